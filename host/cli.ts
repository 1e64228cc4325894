import { heedEarlySignals } from '../base/terminal/early-signals.ts'
import { keepCompiled } from './cli/compile-cache.ts'

heedEarlySignals()
keepCompiled(process.env)
// Loaded from here on, which takes longer than all before.
const { main } = await import('./cli/main.ts')
await main(process.argv.slice(2))
