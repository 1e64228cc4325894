import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Rows } from './report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

type Mutation = {
  /** How a user would notice the bug. */
  readonly fault: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** A test that runs only in `npm run test:all`. It must find the bug if `npm test` doesn't. */
  readonly otherwise?: string
}

/** Deliberate bugs in all areas of the code. At least one test must find each bug. */
export const MUTATIONS: readonly Mutation[] = [
  {
    fault: 'an ID token with the nonce of another sign-in is accepted',
    file: 'host/oauth/id-token.ts',
    from: '  checkNonce(claims.nonce, expected)\n',
    to: '',
  },
  {
    fault: 'an ID token of another issuer is accepted at a refresh',
    file: 'host/oauth/id-token.ts',
    from: 'if (issuer !== undefined && iss !== issuer)',
    to: 'if (false)',
  },
  {
    fault: 'an OAuth answer is accepted in another browser',
    file: 'host/oauth/transactions.ts',
    from: 'if (cookie === undefined || !isSameSecret(storedHash(cookie), row.browser_hash))',
    to: 'if (cookie === undefined)',
    otherwise: 'test/host/oauth/stores.parts.test.ts',
  },
  {
    fault: 'an expired login token is accepted',
    file: 'base/accounts/single-use-token.ts',
    from: ' || found.expiresAt <= now()',
    to: '',
  },
  {
    fault: 'a login token is accepted by another solution',
    file: 'base/accounts/single-use-token.ts',
    from: 'found.solution !== solution || ',
    to: '',
  },
  {
    fault: 'a sign-in form of a foreign page is accepted',
    file: 'host/login/own-page.ts',
    from: "if (sourceOfPost(ctx, serverUrl) === 'foreign') return false",
    to: '',
  },
  {
    fault: 'a sign-in form without the hidden token is accepted',
    file: 'host/login/own-page.ts',
    from: "return formTokens.check(ctx, scope, fields.get('csrf_token'))",
    to: 'return true',
  },
  {
    fault: 'a disabled user can sign in',
    file: 'base/accounts/password-check.ts',
    from: 'row?.enabled === 1 ? row.password_hash : null',
    to: 'row?.password_hash ?? null',
  },
  {
    fault: 'a user disabled while the password is checked can sign in',
    file: 'base/accounts/user-rows.ts',
    from: "        .where('enabled', '=', 1)\n",
    to: '',
  },
  {
    fault: 'a session forgets its tenant',
    file: 'base/accounts/sessions.ts',
    from: 'tenant: session.tenant === null ? null : JSON.stringify(session.tenant)',
    to: 'tenant: null',
  },
  {
    fault: 'a session never ends by its age',
    file: 'base/accounts/sessions.ts',
    from: ' || created_at + limits.SESSION_LIFETIME <= now()',
    to: '',
  },
  {
    fault: 'a stolen remember-me cookie does not end the series',
    file: 'base/accounts/remembered.ts',
    from: '      await endWhere({ selector })\n      return { kind: ',
    to: '      return { kind: ',
  },
  {
    fault: 'scripts of a page can read cookies',
    file: 'base/http/cookies.ts',
    from: '; httponly`',
    to: '`',
  },
  {
    fault: 'a token with the right to read may write',
    file: 'host/access/actor.ts',
    from: "kind === 'read' ? ['read', 'write'] : ['write']",
    to: "['read', 'write']",
    otherwise: 'test/flows/admin-rights.test.ts',
  },
  {
    fault: 'an expired API token is accepted',
    file: 'base/api/tokens.ts',
    from: 'stored.expiresAt !== null && stored.expiresAt <= now() ? null : ',
    to: '',
  },
  {
    fault: 'a value in a login template can end an attribute',
    file: 'runtime/template/escape.ts',
    from: '/[&<>"\'`=\\r\\0]/.test(text)',
    to: '/[&<>]/.test(text)',
  },
  {
    fault: 'application.showURL accepts any protocol',
    file: 'runtime/address.ts',
    from: '!/^mailto:/i.test(address)',
    to: '!/^(?:mailto|javascript):/i.test(address)',
  },
  {
    fault: 'a zip entry with a wrong checksum is accepted',
    file: 'runtime/bundle/unpack.ts',
    from: 'if (crc32(unpacked.content) !== entry.crc32)',
    to: 'if (false)',
  },
  {
    fault: 'a frame may have any size',
    file: 'runtime/frames.ts',
    from: 'if (expected > maxBytes()) return false',
    to: '',
  },
  {
    fault: 'the host does not count the requests of a taken-over process',
    file: 'runtime/call-counts.ts',
    from: 'if (++requests <= CALL_REQUESTS) return null',
    to: 'return null',
  },
  {
    fault: 'the veto of an event listener is ignored',
    file: 'plugins/events-manager/firing.guest.ts',
    from: 'if (!value) all = false',
    to: '',
    otherwise: 'test/plugins/events-manager.parts.test.ts',
  },
  {
    fault: 'scripts reach HTTP hosts without a grant',
    file: 'plugins/http/host.ts',
    from: 'if (!namesPlaceOf(url, await ports.granted(call)))',
    to: 'if (false)',
    otherwise: 'test/plugins/http/fetch.parts.test.ts',
  },
  {
    fault: 'a query may return any number of rows',
    file: 'host/solution-databases/answer.ts',
    from: 'if (rows.length >= limits.QUERY_ROWS) throw overRows(limits)',
    to: '',
    otherwise: 'test/host/solution-databases/server-database.parts.test.ts',
  },
  {
    fault: 'elements are shown to users without their permission',
    file: 'host/clients/render/outline.ts',
    from: 'permission === undefined || context.permissions.has(permission)',
    to: 'true',
  },
  {
    fault: 'a choice that is not offered is accepted',
    file: 'host/clients/check-input.ts',
    from: "return known ? null : { key: 'platform.form.badchoice' }",
    to: 'return null',
  },
  {
    fault: 'maintenance lets new users sign in',
    file: 'host/maintenance/maintenance.ts',
    from: 'if (!(await isProbablyOn())) return',
    to: 'return',
  },
  {
    fault: 'a Satellite accepts a statement of another type',
    file: 'host/cloud/managed/statement.ts',
    from: 'if (protectedHeader.typ !== DESIRED_TYPE)',
    to: 'if (false)',
    otherwise: 'test/flows/managed-attacks.test.ts',
  },
  {
    fault: 'a viewer has the rights of an owner in the control center',
    file: 'control-center/access/roles.ts',
    from: 'return (RIGHTS[right] as readonly Role[]).includes(role)',
    to: 'return right in RIGHTS && role !== undefined',
    otherwise: 'test/control-center/openapi.flow.test.ts',
  },
  {
    fault: 'a rollout is done before all nodes have answered',
    file: 'control-center/rollouts/judge.ts',
    from: 'nodes.length > 0 && nodes.every(',
    to: 'nodes.length > 0 && nodes.some(',
  },
  {
    fault: 'an expired API token of the control center is accepted',
    file: 'control-center/access/api-tokens.ts',
    from: 'expires_at: expiresAt',
    to: 'expires_at: null',
  },
]

/** The number of mutations that `npm test` must find without the other tests. */
const BY_NPM_TEST = 20

/** Applies each mutation to a copy of the repository. For each one, runs the tests until one fails. */
export async function mutations(rows: Rows): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'solhost-mutations-'))
  try {
    copyTree(copy)
    const found = MUTATIONS.map((mutation) => findFault(copy, mutation))
    rows.tell('mutations', MUTATIONS.length)
    rows.atLeast('found by npm test', BY_NPM_TEST, found.filter((by) => by === 'npm test').length)
    rows.atMost('not found by any test', 0, found.filter((by) => by === null).length)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function copyTree(to: string): void {
  const files = run('git', ['ls-files', '-z'], ROOT).stdout
  const copies = [
    run('sh', ['-c', 'tar -c --null -T - | tar -x -C "$0"', to], ROOT, files),
    run('cp', ['-a', join(ROOT, 'node_modules'), to], ROOT),
  ]
  for (const { status, stderr } of copies) if (status !== 0) throw new Error(`the tree could not be copied: ${stderr}`)
}

/**
 * Applies one mutation, runs the tests, and undoes the mutation.
 * @returns the test command that found the bug, or null if none did
 */
function findFault(copy: string, { fault, file, from, to, otherwise }: Mutation): 'npm test' | 'test:all' | null {
  const path = join(copy, file)
  const sound = readFileSync(path, 'utf8')
  if (sound.split(from).length !== 2) throw new Error(`${file} has not exactly one place with: ${from}`)
  writeFileSync(
    path,
    sound.replace(from, () => to),
  )
  try {
    const first = failedTest(copy, ['related', file, '--project', 'unit', '--project', 'smoke'])
    const then = first === null && otherwise !== undefined ? failedTest(copy, [otherwise]) : null
    process.stdout.write(`${first ?? then ?? 'NOT FOUND'}\n  ${fault} (${file})\n`)
    if (first !== null) return 'npm test'
    return then === null ? null : 'test:all'
  } finally {
    writeFileSync(path, sound)
  }
}

/**
 * Runs tests until one fails, and returns its name, or null if all pass. The options 'related' and a file select the
 * tests that import the file. A bug in that file can't affect other tests.
 */
function failedTest(copy: string, options: readonly string[]): string | null {
  const report = join(copy, 'mutation-report.json')
  const vitest = ['bin/with-node.js', 'node_modules/vitest/vitest.mjs', '--run', '--bail=1', '--reporter=json']
  run('node', [...vitest, `--outputFile.json=${report}`, ...options], copy)
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
  rmSync(report)
  // After the first failure, the remaining test files don't run. The report lists them as failed too, at the end.
  const failed = testResults.flatMap(({ assertionResults }) => assertionResults.filter(isFailed))[0]
  return failed?.fullName ?? testResults.find(isFailed)?.name ?? null
}

const isFailed = ({ status }: { readonly status: string }) => status === 'failed'

type Report = {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

function run(program: string, options: readonly string[], cwd: string, input = '') {
  return spawnSync(program, options, { cwd, input, encoding: 'utf8', maxBuffer: 256 * 1024 ** 2 })
}
