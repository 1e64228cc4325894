import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

// This file runs in the thread that checkpoints.ts starts. It does one checkpoint for each message.

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
