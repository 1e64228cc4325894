import { defineConfig } from 'vitest/config'
import { PATIENCE } from './test/support/patience.ts'
import { SlowFilesFirst } from './test/support/slow-files-first.ts'

/**
 * Tests of the main features: upload, sign-in, forms and admin API. They need only Node.js, and `npm test` includes
 * them.
 */
export const SMOKE = [
  'admin-api',
  'default-users',
  'login-form-http',
  'sign-in',
  'solutions-orders',
  'upload-by-manifest',
].map((name) => `test/flows/${name}.test.ts`)
/**
 * Test files that replace Node.js modules (`vi.mock`). They run in a separate worker, because the other files in a
 * project share one.
 */
const APART = ['test/attack/escaped.parts.test.ts', 'test/host/clients/unread-frames.parts.test.ts']
const PARTS = ['test/**/*.parts.test.ts']
const FLOWS = ['test/flows/**/*.test.ts', 'test/**/*.flow.test.ts']
const BROWSER = ['test/browser/**/*.test.ts']

// Tests run in processes, because isolated-vm and node:sqlite are native modules. Three processes run on two cores,
// because one usually waits for other processes. `npm run test:all` uses four, because most of its tests wait.
export default defineConfig({
  test: {
    globalSetup: 'test/support/run-folder.ts',
    pool: 'forks',
    sequence: { sequencer: SlowFilesFirst },
    maxWorkers: 3,
    // Tests allocate many short-lived objects. A larger young generation (in MB) saves most of the time for garbage
    // collection.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...PARTS, ...FLOWS, ...BROWSER],
          setupFiles: 'test/support/unit-guard.ts',
          isolate: false,
        },
      },
      { extends: true, test: { name: 'smoke', include: SMOKE, isolate: false } },
      { extends: true, test: { name: 'parts', include: PARTS, exclude: APART, isolate: false } },
      { extends: true, test: { name: 'apart', include: APART } },
      { extends: true, test: { name: 'flows', include: FLOWS, exclude: SMOKE, isolate: false } },
      { extends: true, test: { name: 'browser', include: BROWSER, isolate: false } },
    ],
  },
})
