// Runs the host like `solhost start`, and adds an IPC channel for the long runs. On request, it reports its memory use
// and which solution each process serves. It can also kill a process and report which solution that process served.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import { readSettings } from '../../host/config/settings.ts'
import { startHost } from '../../host/main.ts'
import type { Question } from './host-window.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const settings = readSettings(process.env)
const log = pino({ level: settings.logLevel, base: null })
const host = await startHost({ settings, log, version: 'test', terminal: false })

process.on('message', ({ id, question }: { id: number; question: Question }) => {
  process.send?.({ id, answer: answer(question) })
})
process.on('SIGTERM', end)
process.on('disconnect', end)
process.stdout.write(`Solhost is running at ${host.url}/\n`)

function answer(question: Question): unknown {
  if (question.kind === 'processes') return host.processes()
  if (question.kind === 'kill') {
    const known = host.processes().find(({ pid }) => pid === question.pid) ?? null
    process.kill(question.pid, 'SIGKILL')
    return known
  }
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().heapUsed
}

function end(): void {
  host.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  )
}
