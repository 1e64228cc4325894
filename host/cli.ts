import { heedEarlySignals } from './cli/early-signals.ts'

heedEarlySignals()
// Loaded from here on, which takes longer than all before.
const { main } = await import('./cli/main.ts')
await main(process.argv.slice(2))
