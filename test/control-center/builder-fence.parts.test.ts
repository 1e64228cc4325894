import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findBuilderFence } from '../../control-center/pipelines/builder-fence.ts'
import { temporaryFolder } from '../support/cli.ts'

/** Adds an `unshare` that always fails, as the real one does for accounts without the required privileges. */
function withoutRights(builder: string): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  for (const [name, script] of [
    ['unshare', 'exit 1'],
    ['builder', builder],
  ] as const) {
    writeFileSync(join(folder.path, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder.path, name), 0o755)
  }
  vi.stubEnv('PATH', `${folder.path}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  return join(folder.path, 'builder')
}

test.each([
  ['has no "unshare"', 'echo "unknown command" >&2; exit 125'],
  ['accepts every command', 'exit 0'],
  ['prints the name of a network that is not its own', 'echo "net:[x]"'],
  ['runs the command in our network', 'while [ "$1" != sh ]; do shift; done; exec "$@"'],
])('a builder that %s cannot create a separate network', async (_what, script) => {
  expect(await findBuilderFence([withoutRights(script)])).toBeNull()
})
