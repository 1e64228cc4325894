// Builds what a start would build otherwise, for an installation whose files nobody may write when it starts: the programs that
// run in processes of their own, and our own scripts without types.
import { builtInPlugins } from '../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../base/bundles/trusted.ts'
// Makes the script of its pages when it is loaded.
import '../control-center/pages/script.ts'
import { EMBEDDED_MAIN } from '../host/solution-databases/embedded-database.ts'
import { makeAdminScript, makeClientScript } from '../host/web/scripts.ts'
import { createLimits } from '../runtime/limits.ts'
import { programFile } from '../runtime/program-file.ts'
import { SANDBOX_MAIN } from '../runtime/sandbox-process.ts'

for (const main of [SANDBOX_MAIN, EMBEDDED_MAIN]) process.stdout.write(`${programFile(main)}\n`)
const limits = createLimits()
const plugins = builtInPlugins('none', limits)
readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
makeClientScript()
makeAdminScript()
