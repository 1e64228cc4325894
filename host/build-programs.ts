// Builds the programs that run in processes of their own, for an installation whose files nobody may write when the host starts.
import { programFile } from '../runtime/program-file.ts'
import { SANDBOX_MAIN } from '../runtime/sandbox-process.ts'
import { EMBEDDED_MAIN } from './solution-databases/embedded-database.ts'

for (const main of [SANDBOX_MAIN, EMBEDDED_MAIN]) process.stdout.write(`${programFile(main)}\n`)
