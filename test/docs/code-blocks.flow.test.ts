import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ELEMENT_TYPES } from '../../runtime/forms/form-schema.ts'
import { runCli, writeFiles } from '../support/cli.ts'
import { hasCommand } from '../support/commands.ts'
import { type Block, GUIDES, kindOf, nameOf, ROOT, readBlocks } from '../support/guides/blocks.ts'
import { playClaim, readLog } from '../support/guides/claims.ts'
import { type CommandFolder, createCommandFolder } from '../support/guides/commands.ts'
import {
  editorErrors,
  editorErrorsIn,
  exampleFiles,
  type GuideSolution,
  isExcerpt,
  quotedExample,
  solutionsOf,
} from '../support/guides/solutions.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Files, zipOf } from '../support/zip.ts'

// Runs every fenced code block in the guides according to its kind; see `test/support/guides/blocks.ts` for the
// notation.

/**
 * Guides whose code blocks are run by another test. That test selects each block by its language and some of its text.
 */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'docs/forms.md': 'test/docs/forms-guide.flow.test.ts',
  'docs/oauth.md': 'test/flows/oauth-docs.test.ts',
  'docs/plugins.md': 'test/docs/plugins-guide.flow.test.ts',
  'docs/testing.md': 'test/browser/testing-guide.test.ts',
}

/** Code blocks that cannot be run here, each identified by some text in it. */
const NOT_RUN: readonly (readonly [guide: string, text: string, why: string])[] = [
  ['README.md', 'npm ci && npm start', 'installs packages; .ci/run does that in a clean clone'],
  ['README.md', 'npm ci && npm test', 'would run all tests within one of them'],
  ['SECURITY.md', 'isolate, context', 'a drawing'],
  ['docs/architecture.md', 'flowchart TB', 'a drawing'],
  ['docs/control-center.md', 'npm ci &&', 'installs packages; test/browser/control-center.test.ts starts it'],
  [
    'docs/control-center.md',
    '-- new-password',
    'needs an account; test/control-center/new-password.flow.test.ts runs it',
  ],
  [
    'docs/control-center.md',
    'control-center -- reset-second-factor',
    'needs an account; test/control-center/second-factor.flow.test.ts runs it',
  ],
  ['docs/control-center.md', '[Service]', 'is for systemd'],
  ['docs/control-center.md', 'HOST=0.0.0.0\nPORT=443', 'settings of that service'],
  ['docs/control-center.md', 'systemd-run', 'needs a service of systemd'],
  ['docs/control-center.md', 'HOST=0.0.0.0 PORT=443', 'needs a certificate and the port 443 of the machine'],
  [
    'docs/control-center.md',
    'make-secrets.sh',
    'needs Docker; test/deploy/control-center.flow.test.ts reads the files',
  ],
  ['docs/control-center.md', 'control-center control-center new-password', 'needs Docker'],
  [
    'docs/control-center.md',
    'kubectl apply',
    'needs a cluster; test/deploy/control-center-kubernetes.test.ts reads the files',
  ],
  [
    'docs/control-center.md',
    '--restart unless-stopped',
    'needs an engine; test/container/image.flow.test.ts runs the control center so',
  ],
  [
    'docs/control-center.md',
    '-- backup /var',
    'needs a control center; test/control-center/backup.flow.test.ts runs it',
  ],
  [
    'docs/control-center.md',
    'docker compose cp',
    'needs Docker; test/container/image.flow.test.ts makes a backup in the container',
  ],
  ['docs/control-center.md', '-- restore /var', 'needs a backup; test/control-center/backup.flow.test.ts runs it'],
  ['docs/install.md', 'npm run package', 'installs packages; test/package/package.flow.test.ts does the same'],
  [
    'docs/install.md',
    'solhost init shop',
    'uses the installed package; test/package/package.flow.test.ts does the same',
  ],
  ['docs/install.md', 'useradd', 'needs systemd; test/deploy/systemd.parts.test.ts verifies the unit'],
  ['docs/telemetry.md', 'scrape_configs', 'is for a Prometheus; test/flows/telemetry.test.ts scrapes both places'],
  ['docs/performance.md', 'npm run bench', 'takes minutes, and measures what else runs on the machine too'],
  ['docs/several-nodes.md', 'make-secrets.sh', 'needs Docker; test/deploy/compose.parts.test.ts reads the files'],
  [
    'docs/several-nodes.md',
    'SOLHOST_VERSION',
    'needs Docker; test/deploy/rolling-restart.flow.test.ts restarts a node',
  ],
  ['docs/several-nodes.md', 'kubectl apply', 'needs a cluster; test/deploy/kubernetes.test.ts reads the files'],
  [
    'docs/satellite.md',
    'sudo install -d',
    'makes a folder of the machine; test/container/image.flow.test.ts runs the image with one',
  ],
  [
    'docs/satellite.md',
    '--restart unless-stopped',
    'needs an engine; test/container/image.flow.test.ts runs it with these options',
  ],
  ['docs/satellite.md', 'admin-password', 'needs that folder; test/container/image.flow.test.ts reads the file'],
  [
    'docs/satellite.md',
    '127.0.0.1:8081:8081',
    'needs an engine; test/container/image.flow.test.ts asks the admin port',
  ],
  [
    'docs/satellite.md',
    'DB_ALPHA_PASSWORD_FILE',
    'needs a PostgreSQL server; test/container/image.flow.test.ts has a secret as a file',
  ],
  ['docs/tls.md', 'renewal-hooks', 'certbot runs it; test/base/tls/renewal-hook.parts.test.ts does as it does'],
  ['docs/satellite.md', 'CERTIFICATE_PASS_FILE', 'needs an engine; test/container/image.flow.test.ts serves TLS so'],
  ['docs/satellite.md', 'sbom.cdx.json', 'needs an engine; test/container/image.flow.test.ts reads the file'],
  ['docs/backup.md', 'docker stop solhost', 'needs an engine; test/flows/cli-backup.test.ts restores without one'],
  ['docs/satellite.md', 'docker build', 'needs an engine; test/container/image.flow.test.ts builds the image'],
  ['docs/satellite.md', 'buildah bud', 'test/container/image.flow.test.ts builds and runs it so'],
  [
    'docs/databases.md',
    'DB_ALPHA_SERVER',
    'needs a PostgreSQL server; test/base/database/alpha.parts.test.ts starts with one',
  ],
  [
    'docs/databases-in-scripts.md',
    'jsonb_array_elements_text',
    'PostgreSQL; test/host/solution-databases/server-database.parts.test.ts runs these',
  ],
  ['docs/databases-in-scripts.md', 'WITH SCHEMABINDING', 'Microsoft SQL Server, which could not be had'],
  [
    'docs/databases-in-scripts.md',
    'json_contains',
    'MariaDB; test/host/solution-databases/server-database.parts.test.ts runs these',
  ],
]

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 })

const notRun = ({ guide, code }: Block) => NOT_RUN.some(([of, text]) => of === guide && code.includes(text))

/** @returns whether the guide's own test uses the block, through `example('js', 'some text')` or as a form element */
function isTakenElsewhere(block: Block): boolean {
  const file = ELSEWHERE[block.guide]
  if (file === undefined) return false
  const source = readFileSync(join(ROOT, file), 'utf8')
  const named = [...source.matchAll(/\(\s*'(\w+)',\s*(['"])(.+?)\2\s*\)/g)]
  if (named.some(([, language, , text = '']) => language === block.language && block.code.includes(text))) return true
  // Examples of form elements are read by test/runtime/forms/form-schema.test.ts.
  return block.guide === 'docs/forms.md' && ELEMENT_TYPES.some((type) => block.code.includes(`"type": "${type}"`))
}

describe('every code block in the guides is tested, or listed as not run', () => {
  test.each(GUIDES)('%s', (guide) => {
    const unknown = readBlocks(guide).filter(
      (block) => !notRun(block) && !isTakenElsewhere(block) && kindOf(block) === null,
    )
    expect(unknown.map(nameOf)).toEqual([])
  })

  test('each code block that is listed as not run exists exactly once', () => {
    const blocks = GUIDES.flatMap(readBlocks)
    for (const [guide, text] of NOT_RUN) {
      const found = blocks.filter((block) => block.guide === guide && block.code.includes(text))
      expect([guide, text, found.length]).toEqual([guide, text, 1])
    }
  })
})

const PASSWORD = 'test admin password'
let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

async function upload(name: string, files: Files): Promise<number> {
  const answer = await host.upload(name, await zipOf(files))
  const body = (await answer.json()) as { faults?: unknown; warnings?: unknown }
  expect({ faults: body.faults ?? [], warnings: body.warnings }).toEqual({ faults: [], warnings: [] })
  return (await readLog({ host, solution: name })).length
}

/**
 * Compares the block with the output of "solhost check" for these files. The output is deterministic, so the block
 * needs no `…`.
 */
async function expectCheck(block: Block, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-guide-'))
  writeFiles(folder, files)
  const { out } = await runCli(['check', '.'], { cwd: folder }).finally(() => rmSync(folder, { recursive: true }))
  expect(out.trim(), nameOf(block)).toBe(block.code.trim())
}

type Running = { readonly folder: CommandFolder; readonly solution: GuideSolution | undefined; readonly logged: number }

async function runBlock(block: Block, { folder, solution, logged }: Running): Promise<void> {
  const kind = kindOf(block)
  if (kind === 'commands') return folder.run(block)
  if (kind === 'folder') return folder.write(block.words[0] as string, block.code)
  if (kind === 'excerpt') return expect([nameOf(block), isExcerpt(block)]).toEqual([nameOf(block), true])
  if (kind === 'sql') {
    using database = new DatabaseSync(':memory:')
    return database.exec(block.code)
  }
  if (kind !== 'claim') return
  if (block.words[0] === 'check') return expectCheck(block, solution?.files ?? {})
  const name = solution?.name ?? folder.solution()
  if (name === null) throw new Error(`${nameOf(block)} speaks of no solution`)
  return playClaim(block, solution === undefined ? folder.host() : host, name, logged).catch((error: unknown) => {
    throw new Error(`${nameOf(block)}: ${error instanceof Error ? error.message : error}`, { cause: error })
  })
}

const MISSING = ['curl', 'zip', 'jq'].filter((name) => !hasCommand(name))

describe('the code blocks in each guide do what the guide says', () => {
  const guides = GUIDES.map(
    (guide) => [guide, readBlocks(guide).filter((one) => !notRun(one) && !isTakenElsewhere(one))] as const,
  )
  test.each(guides.filter(([, blocks]) => blocks.length > 0))('%s', async (_guide, blocks) => {
    if (MISSING.length > 0) throw new Error(`the commands of the guides need ${MISSING.join(', ')}`)
    const folder = await createCommandFolder({ url: host.url, admin: host.admin, password: PASSWORD })
    try {
      const solutions = solutionsOf(blocks)
      for (const [section, all] of Map.groupBy(blocks, (block) => block.section)) {
        const solution = solutions.find((one) => one.section === section)
        const isChecked = all.some(({ words }) => words[0] === 'check')
        const logged = solution && !isChecked ? await upload(solution.name, solution.files) : 0
        const example = quotedExample(all)
        if (example !== null) await upload(example, exampleFiles(example))
        for (const block of all) await runBlock(block, { folder, solution, logged })
      }
      const made = folder.solution()
      if (made !== null) expect(await editorErrorsIn(folder.path, [made])).toEqual([])
    } finally {
      await folder.stop()
    }
  })
})

describe('a code editor reports no errors in the guides’ solutions', () => {
  const solutions = GUIDES.flatMap((guide) =>
    solutionsOf(readBlocks(guide).filter((one) => !notRun(one) && !isTakenElsewhere(one))).map(
      (solution) => [`${guide}: ${solution.section}`, solution] as const,
    ),
  )
  const isMeantWrong = (where: string) =>
    GUIDES.flatMap(readBlocks).some(
      ({ guide, section, words }) => `${guide}: ${section}` === where && words[0] === 'check',
    )
  const sound = solutions.filter(([where]) => !isMeantWrong(where))
  let errors: readonly string[]
  beforeAll(async () => {
    errors = await editorErrors(sound.map(([, { files }]) => files))
  })
  test.each(sound.map(([where], index) => [where, `${index}/`] as const))('%s', (_where, folder) => {
    expect(errors.filter((error) => error.startsWith(folder))).toEqual([])
  })

  test('a code editor reports no errors elsewhere', () => {
    expect(errors).toEqual([])
  })
})
