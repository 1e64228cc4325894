import { keepHttpLean } from '../base/program/lean-http.ts'
import { heedEarlySignals } from '../base/terminal/early-signals.ts'
import { keepCompiled } from './compile-cache.ts'

heedEarlySignals()
keepCompiled(process.env)
keepHttpLean()
// Import the slowest module last, after the signal handlers and the compile cache are set up.
const { main } = await import('./main.ts')
await main(process.argv.slice(2))
