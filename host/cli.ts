import { keepCompiled } from './cli/compile-cache.ts'
import { heedEarlySignals } from './cli/early-signals.ts'

heedEarlySignals()
keepCompiled(process.env)
// Loaded from here on, which takes longer than all before.
const { main } = await import('./cli/main.ts')
await main(process.argv.slice(2))
