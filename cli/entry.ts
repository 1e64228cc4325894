import { heedEarlySignals } from '../base/terminal/early-signals.ts'
import { keepCompiled } from './compile-cache.ts'

heedEarlySignals()
keepCompiled(process.env)
// Import this only now, because it takes longer to load than everything above.
const { main } = await import('./main.ts')
await main(process.argv.slice(2))
