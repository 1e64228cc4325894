import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export type Program = { readonly pid: number; readonly port: number; readonly stop: () => Promise<void> }

/** Starts a program in this folder. It sends its port as its first message, and exits when the IPC channel closes. */
export async function startProgram(file: string, args: readonly string[]): Promise<Program> {
  const execArgv = ['--disable-warning=ExperimentalWarning']
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv })
  const gone = once(child, 'exit')
  const [message] = (await Promise.race([
    once(child, 'message'),
    gone.then(() => Promise.reject(new Error(`${file} exited while it was starting`))),
  ])) as [{ port: number }]
  return {
    pid: child.pid ?? 0,
    port: message.port,
    async stop() {
      child.disconnect()
      await gone
    },
  }
}
