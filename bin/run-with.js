// Runs a script with a fitting Node.js as a child that gets our signals and ends with us.
import { spawn } from 'node:child_process'
import { findNode } from './find-node.js'

/** In ms. A child that doesn't answer for this long after a signal is hung and would never exit. */
const PATIENCE = 10_000

/**
 * @param {string[]} args the script and its arguments
 * @param {{ stopsWithUs?: boolean, patience?: number }} [options] stopsWithUs: the child has an IPC channel and ends when it closes,
 *   which happens when this process dies in whatever way
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
  // Sandbox processes may send signals: without a listener this one would open a debugger here.
  process.on('SIGUSR1', () => {})
  const endIfStuck = options.stopsWithUs ? watchChild(child, options.patience ?? PATIENCE) : () => {}
  const passOn = (signal) => () => {
    child.kill(signal)
    endIfStuck()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, passOn(signal))
  child.on('error', (error) => {
    process.stderr.write(`${found.node} cannot be started: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    // Ending by the same signal tells our own parent the truth about how the child ended.
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

/**
 * A child may take long to exit, but answers meanwhile (base/terminal/launcher.ts).
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} patience in ms
 * @returns {() => void} asks it once, and kills it if no answer comes
 */
function watchChild(child, patience) {
  let timer
  child.on('message', () => {
    clearTimeout(timer)
    timer = undefined
  })
  return () => {
    if (timer !== undefined) return
    // Without a channel the child is about to exit.
    if (child.connected) child.send('are you there', () => {})
    timer = setTimeout(() => {
      process.stderr.write(`The process did not react to the signal within ${patience / 1000} s and was killed.\n`)
      child.kill('SIGKILL')
    }, patience)
  }
}

/**
 * As process 1 of a container this process becomes the script, so that no second one waits beside the host, and the host has
 * what the kernel gives to process 1 alone: nobody inside can kill it.
 * @param {string[]} args as above
 * @returns {boolean} false: it is not process 1, or this Node.js cannot; otherwise it does not return
 */
export function becomeAsProcess1(args) {
  const found = findNode()
  if (process.pid !== 1 || 'problem' in found || process.execve === undefined) return false
  process.execve(found.node, [found.node, ...args], process.env)
  return true
}
