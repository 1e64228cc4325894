/**
 * Kills a process. Don't pass 0, which would kill the process group of the whole test run.
 * @throws TypeError if the pid is undefined, because the test found no process
 */
export function killProcess(pid: number | undefined): void {
  if (pid === undefined) throw new TypeError('the test has found no process to kill')
  process.kill(pid, 'SIGKILL')
}
