// Preloaded into a host. On SIGUSR2, it prints the longest event loop delay since the previous signal.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()

process.on('SIGUSR2', () => {
  process.stdout.write(`longest delay ${delays.max / 1e6} ms\n`)
  delays.reset()
})
