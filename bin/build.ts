// Builds the files that the first start would otherwise build: the programs that run in separate processes, and our
// scripts without types. Installations whose files are read-only at run time need this.
import { builtInPlugins } from '../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../base/bundles/trusted.ts'
// Importing this module builds the script for the control center's pages.
import '../control-center/pages/script.ts'
import { EMBEDDED_MAIN } from '../host/solution-databases/embedded-child.ts'
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
