/**
 * Kills a process.
 * @throws TypeError if the test found none. A pid of 0 would kill the process group of the whole test run
 */
export function killProcess(pid: number | undefined): void {
  if (pid === undefined) throw new TypeError('the test has found no process to kill')
  process.kill(pid, 'SIGKILL')
}
