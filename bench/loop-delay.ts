// Loaded into a host before everything else: SIGUSR2 prints the longest delay of its event loop since the last time.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()

process.on('SIGUSR2', () => {
  process.stdout.write(`longest delay ${delays.max / 1e6} ms\n`)
  delays.reset()
})
