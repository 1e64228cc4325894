/** The first lines of code for a new process in the project's folder: they define `trusted`, `limits` and `prepareIsolate`. */
export const READ_TRUSTED = `import { builtInPlugins } from './base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from './base/bundles/sandbox-solution.ts'
import { readTrusted } from './base/bundles/trusted.ts'
import { createLimits } from './runtime/limits.ts'
import { prepareIsolate } from './runtime/sandbox/isolate.ts'
const limits = createLimits()
const plugins = builtInPlugins('none', limits)
const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)`
