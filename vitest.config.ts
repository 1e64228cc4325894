import { defineConfig } from 'vitest/config'
import { PATIENCE } from './test/support/patience.ts'

// Forks, since isolated-vm and node:sqlite are native; two workers, since the tests start processes of their own.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/compile-cache.ts',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE } },
  },
})
