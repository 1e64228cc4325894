// Runs a script with a suitable Node.js as a child process. The child gets our signals and exits when we do.
import { spawn } from 'node:child_process'
import { findNode } from './find-node.js'

/** Timeout in ms for the child's response after a signal. A child that doesn't respond in time would never exit. */
const PATIENCE = 10_000

/**
 * @param {string[]} args the script and its arguments
 * @param {{ stopsWithUs?: boolean, patience?: number }} [options] stopsWithUs: the child has an IPC channel and exits
 * when it closes, even if this process is killed
 */
export function runWithFittingNode(args, options = {}) {
  const found = findNode()
  if ('problem' in found) {
    process.stderr.write(`${found.problem}\n`)
    process.exitCode = 1
    return
  }
  const stdio = options.stopsWithUs ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit'
  const env = options.stopsWithUs ? { ...process.env, SOLHOST_LAUNCHER: String(process.pid) } : process.env
  const child = spawn(found.node, args, { stdio, env })
  // Ignore SIGUSR1, because sandbox processes can send signals. Without a listener, it would open a debugger.
  process.on('SIGUSR1', () => {})
  const endIfStuck = options.stopsWithUs ? watchChild(child, options.patience ?? PATIENCE) : () => {}
  const passOn = (signal) => () => {
    child.kill(signal)
    endIfStuck()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, passOn(signal))
  child.on('error', (error) => {
    process.stderr.write(`Cannot start ${found.node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    // Terminate this process with the same signal as the child, so that its parent sees why the child exited.
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

/**
 * Detects a hung child. A child may take a long time to exit, but until then it responds to pings
 * (base/terminal/launcher.ts).
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} patience in ms
 * @returns {() => void} pings the child once, and kills it if it doesn't respond
 */
function watchChild(child, patience) {
  let timer
  child.on('message', () => {
    clearTimeout(timer)
    timer = undefined
  })
  return () => {
    if (timer !== undefined) return
    // If the channel is closed, the child is about to exit and can't be pinged.
    if (child.connected) child.send('are you there', () => {})
    timer = setTimeout(() => {
      process.stderr.write(
        `Solhost did not respond to the stop signal within ${patience / 1000} s, so its launcher killed it.\n`,
      )
      child.kill('SIGKILL')
    }, patience)
  }
}

/**
 * Replaces this process with the script if this is process 1 of a container. That saves a second process. Also, the
 * kernel then protects the host: no process in the container can kill process 1.
 * @param {string[]} args as above
 * @returns {boolean} false if this is not process 1 or this Node.js cannot do it; otherwise does not return
 */
export function becomeAsProcess1(args) {
  const found = findNode()
  if (process.pid !== 1 || 'problem' in found || process.execve === undefined) return false
  process.execve(found.node, [found.node, ...args], process.env)
  return true
}
