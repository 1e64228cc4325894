/**
 * Kills a process that the test has looked up. Don't convert undefined to 0, which means the process group of the whole
 * test run.
 */
export function killProcess(pid: number | undefined): void {
  if (pid === undefined) throw new TypeError('the test has found no process to kill')
  process.kill(pid, 'SIGKILL')
}
