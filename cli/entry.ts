import { heedEarlySignals } from '../base/terminal/early-signals.ts'
import { keepCompiled } from './compile-cache.ts'

heedEarlySignals()
keepCompiled(process.env)
// Loaded from here on, which takes longer than all before.
const { main } = await import('./main.ts')
await main(process.argv.slice(2))
