import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

// Runs in the thread that checkpoints.ts starts. Does one checkpoint per message.

const database = new DatabaseSync(workerData as string, { timeout: 5000 })
database.exec('PRAGMA synchronous = NORMAL')
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')

parentPort?.on('message', () => {
  try {
    checkpoint.get()
  } finally {
    parentPort?.postMessage(null)
  }
})
