import { expect, test } from 'vitest'
import { builtInPlugins } from '../../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../../base/bundles/trusted.ts'
import { createLimits, type LimitName } from '../../../runtime/limits.ts'

function trustedWith(changed: Partial<Record<LimitName, number>> = {}) {
  const limits = createLimits(changed)
  const plugins = builtInPlugins('none', limits)
  return readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
}

test('the supervisors of one process share a snapshot if their plugins and limits are the same', () => {
  const first = trustedWith()
  expect(trustedWith()).toBe(first)
  const other = trustedWith({ LOG_LINES: 7 })
  expect(other).not.toBe(first)
  expect(other.limits.LOG_LINES).toBe(7)
})
