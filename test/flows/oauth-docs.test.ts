import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { PROVIDERS } from '../../base/oauth/providers.ts'
import { OAUTH_PROBLEMS } from '../../host/oauth/problems.ts'
import { OAUTH_SETTING_NAMES, OAuthForm } from '../../runtime/bundle/manifest-schema.ts'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import { hasCommand } from '../support/commands.ts'
import { BY_EMAIL, comeTo, logOf, textOf } from '../support/oauth.ts'
import { ACCOUNTS, type OidcProvider } from '../support/oidc-provider.ts'
import { type SharedOAuthHost, sharedOAuthHost } from '../support/shared-oauth-host.ts'
import { askAdmin } from '../support/users.ts'
import { bundleOf, type Files, moduleFile } from '../support/zip.ts'

// Runs the examples from docs/oauth.md unchanged, except for the names of the host and the provider.
const GUIDE = readFileSync(fileURLToPath(new URL('../../docs/oauth.md', import.meta.url)), 'utf8')

let provider: OidcProvider
let host: SharedOAuthHost['host']

beforeAll(async () => {
  ;({ provider, host } = await sharedOAuthHost())
  const base = `${host.url}/solution/crm`
  for (const client_id of ['crm', 'crm-of-this-server']) {
    await provider.setClient({
      client_id,
      redirect_uris: [`${base}/app_oauth/index.html`],
      post_logout_redirect_uris: [`${base}/index.html?signed-out`],
      backchannel_logout_uri: `${base}/backchannel-logout`,
    })
  }
})

/** Finds the only code block in that language that contains the text. */
function example(language: string, text: string): string {
  const found = [...GUIDE.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, of, code]) => of === language && code?.includes(text))
    .map(([, , code]) => code ?? '')
  if (found.length !== 1) throw new Error(`docs/oauth.md has ${found.length} blocks of ${language} with ${text}`)
  return (found[0] ?? '')
    .replaceAll('https://login.example.org', provider.issuer)
    .replaceAll('login.example.org', provider.hostPort)
    .replaceAll('http://127.0.0.1:8080', host.url)
    .replaceAll('the secret that the provider gave', CLIENT_SECRET)
}

/** @returns the code spans in the first column of the table under this heading */
function firstColumn(heading: string): string[] {
  const section = GUIDE.slice(GUIDE.indexOf(`\n## ${heading}\n`)).split('\n## ')[1] ?? ''
  return [...section.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
  )
}

const firstManifest = () => JSON.parse(example('json', '"authenticator": "OAUTH"')) as Record<string, unknown>

async function upload(manifest: Record<string, unknown>, files: Files): Promise<void> {
  const answer = await host.upload('crm', await bundleOf(manifest, files))
  if (answer.status !== 201) throw new Error(await answer.text())
  expect(await answer.json()).toMatchObject({ active: true, warnings: [] })
}

function setSecret(): Promise<unknown> {
  const body = { value: CLIENT_SECRET, hosts: [provider.hostPort] }
  return askAdmin(host, 'PUT', 'solutions/crm/secrets/CRM_SECRET', body, 204)
}

async function uploadFirst(): Promise<void> {
  await upload(firstManifest(), {
    'modules/crm-login/solution.json': example('json', '"type": "authenticator"'),
    'modules/crm-login/globals.js': example('js', 'const PEOPLE'),
  })
  await setSecret()
}

test('docs, a first example: the account in the example can sign in, another account cannot', async () => {
  await uploadFirst()
  const anna = comeTo(host, 'crm')
  expect((await anna.signIn()).status).toBe(303)
  expect((await anna.session()).json()).toMatchObject({ username: 'anna', uid: 'u-1', permissions: ['Users'] })
  const back = await comeTo(host, 'crm').signIn({ account: 'bram' })
  expect([back.status, textOf(back.text).includes('This account has no access')]).toEqual([403, true])
})

test('docs, Custom: setting the endpoints individually is enough, and the signed-out page says where the user may still be signed in', async () => {
  const { issuer, ...oauth } = firstManifest().oauth as Record<string, unknown>
  const found = await fetch(`${provider.issuer}/.well-known/openid-configuration`)
  const { authorization_endpoint, token_endpoint, jwks_uri } = (await found.json()) as Record<string, string>
  const addresses = { authorizationBaseUrl: authorization_endpoint, accessTokenEndpoint: token_endpoint, jwks_uri }
  await upload(
    { ...firstManifest(), oauth: { ...oauth, ...addresses } },
    { ...moduleFile('crm-login', { type: 'authenticator' }), 'modules/crm-login/globals.js': BY_EMAIL },
  )
  await setSecret()
  const anna = comeTo(host, 'crm')
  expect((await anna.signIn()).status).toBe(303)
  const { location = '' } = (await anna.logOut()).headers
  const page = textOf((await anna.person.open(location)).text)
  expect(page).toContain(`You may still be signed in at ${new URL(String(issuer)).host}`)
  expect((await anna.session()).status).toBe(401)
})

/** @returns `queryParams` from the last two sign-ins, as the script logged them */
async function askedWith(): Promise<Record<string, Record<string, unknown>>[]> {
  const lines = (await logOf(host, 'crm')).filter(({ message }) => message.startsWith('asked '))
  return lines.slice(-2).map(({ message }) => JSON.parse(message.slice('asked '.length)).q)
}

test('docs, what the authenticator gets: it gets the documented fields at the first and later sign-ins, and no credentials', async () => {
  const { oauth, ...manifest } = firstManifest()
  const settings = /^\| other OpenID Connect providers \| `(.*)` \|$/m.exec(GUIDE)?.[1]
  await upload(
    { ...manifest, oauth: { ...(oauth as object), ...JSON.parse(`{${settings}}`) } },
    { ...moduleFile('crm-login', { type: 'authenticator' }), 'modules/crm-login/globals.js': BY_EMAIL },
  )
  await setSecret()
  const anna = comeTo(host, 'crm')
  expect((await anna.signIn({}, '?branch=7')).status).toBe(303)
  anna.person.close()
  expect((await anna.open()).status).toBe(200)
  const [first = {}, next = {}] = await askedWith()
  const claims = first.last_login?.claims as object
  expect(first).toEqual({ branch: '7', last_login: { ...claims, claims, last_login: expect.any(Number) } })
  expect(claims).toMatchObject({ iss: provider.issuer, sub: 'sub-of-anna', email_verified: true })
  const username = 'anna@example.org'
  const earlier = {
    uid: `${provider.issuer}#sub-of-anna`,
    username,
    permissions: ['Users', 'Admins'],
    tenant: null,
    locale: 'en',
  }
  expect(next).toEqual({ username, last_login: { ...next.last_login, ...earlier } })

  const tokens = provider.requests.flatMap(({ body = {} }) =>
    [body.code, body.refresh_token, body.client_secret, body.code_verifier].filter((one) => typeof one === 'string'),
  )
  expect(tokens.length).toBeGreaterThan(3)
  const given = JSON.stringify([first, next])
  const kept = readdirSync(host.home, { withFileTypes: true }).filter((entry) => entry.isFile())
  const files = kept.map(({ name }) => readFileSync(join(host.home, name), 'latin1'))
  expect(files.some((text) => text.includes(username))).toBe(true)
  expect(tokens.filter((token) => [given, ...files].some((text) => text.includes(token)))).toEqual([])
})

test('docs, getOAuthConfig: it returns the tenant’s provider, none for an unknown tenant, and an error without a tenant', async () => {
  const { oauth: _, ...manifest } = firstManifest()
  await upload(
    { ...manifest, authenticator: 'OAUTH_AUTHENTICATOR' },
    {
      ...moduleFile('crm-login', { type: 'authenticator' }),
      'modules/crm-login/globals.js': `${example('js', 'const TENANTS')}\n${example('js', 'const PEOPLE')}`,
    },
  )
  await setSecret()
  expect((await comeTo(host, 'crm').signIn({}, '?tenant=acme')).status).toBe(303)
  const statuses = []
  for (const query of ['?tenant=other', '?tenant=a.b', '', '?tenant=constructor']) {
    statuses.push((await comeTo(host, 'crm').open(query)).status)
  }
  expect(statuses).toEqual([503, 503, 503, 503])
  const log = (await logOf(host, 'crm')).map(({ code, message }) => `${code} ${message}`).join('\n')
  expect(log).toContain('oauth_configuration getOAuthConfig returned null')
  expect(log).toContain('the URL must contain a tenant: index.html?tenant=acme')
  expect(log).toContain('the tenant may have letters, digits')
})

test('docs, why an email alone is risky: an invited user is matched by email once, then by issuer and subject', async () => {
  const databases = { own: { server: 'embedded' } }
  const rows = `INSERT INTO person VALUES ('u-1', 'anna', '["Users"]', 'anna@example.org', NULL, NULL)`
  await upload(
    { name: 'crm', authenticator: 'NONE', databases },
    {
      'globals.js': `async function onSolutionOpen() {
        await plugins.database.query('own', ${JSON.stringify(example('sql', 'CREATE TABLE person'))}, [])
        await plugins.database.query('own', ${JSON.stringify(rows)}, [])
      }`,
    },
  )
  expect((await comeTo(host, 'crm').openClient()).everything()).toContain('This solution is open to everyone')
  await upload(
    { ...firstManifest(), databases },
    { ...moduleFile('crm-login', { type: 'authenticator' }), 'modules/crm-login/globals.js': example('js', 'BIND') },
  )
  await setSecret()

  // Carl has Anna's email address, but it is not verified. Bram was not invited.
  const refused = []
  for (const account of ['carl', 'bram']) refused.push((await comeTo(host, 'crm').signIn({ account })).status)
  expect(refused).toEqual([403, 403])
  const anna = comeTo(host, 'crm')
  expect((await anna.signIn()).status).toBe(303)
  expect((await anna.session()).json()).toMatchObject({ uid: 'u-1' })
  // Another account takes over the email address, and verifies it. Anna has a new address.
  const change = (name: string, claims: object) =>
    provider.accounts.splice(
      provider.accounts.findIndex((one) => one.name === name),
      1,
      { ...(ACCOUNTS.find((one) => one.name === name) as (typeof ACCOUNTS)[number]), claims: { ...claims } },
    )
  change('carl', { email: 'anna@example.org', email_verified: true })
  change('anna', { email: 'anna@elsewhere.example', email_verified: true })
  try {
    expect((await comeTo(host, 'crm').signIn({ account: 'carl' })).status).toBe(403)
    expect((await comeTo(host, 'crm').signIn()).status).toBe(303)
  } finally {
    provider.accounts.splice(0, provider.accounts.length, ...ACCOUNTS)
  }
})

if (hasCommand('curl') && hasCommand('jq')) {
  const run = promisify(execFile)
  const shell = (script: string, cwd = host.home) => {
    const password = Buffer.from(host.admin.replace('Basic ', ''), 'base64').toString().replace('admin:', '')
    return run('sh', ['-c', script], { cwd, env: { PATH: process.env.PATH ?? '', PASSWORD: password } })
  }

  test('docs, curl: the commands set the secret, the operator’s settings and Apple’s key', async () => {
    await uploadFirst()
    await askAdmin(host, 'DELETE', 'solutions/crm/secrets/CRM_SECRET', undefined, 204)
    expect((await comeTo(host, 'crm').open()).status).toBe(503)
    await shell(example('sh', '/secrets/CRM_SECRET'))
    const answered = JSON.parse((await shell(example('sh', '/oauth'))).stdout)
    expect(answered).toMatchObject({ settings: { clientId: 'crm-of-this-server' }, warnings: [] })
    const { location } = await comeTo(host, 'crm').start()
    const asked = new URL(location).searchParams
    expect([asked.get('client_id'), asked.get('login_hint')]).toEqual(['crm-of-this-server', 'anna@example.org'])
    await askAdmin(host, 'DELETE', 'solutions/crm/oauth', undefined, 204)
    await shell("printf 'BEGIN\\nEND\\n' > AuthKey.p8")
    await shell(example('sh', 'AuthKey.p8'))
    const { items } = await askAdmin(host, 'GET', 'solutions/crm/secrets')
    expect(items).toContainEqual({ name: 'APPLE_KEY', hosts: ['appleid.apple.com'] })
  })
} else {
  console.warn('docs/oauth.md: its curl lines were not tried, since curl or jq is missing')
}

test('docs: the page lists all providers, settings and problems that exist, with their status, and no others', () => {
  expect(firstColumn('Providers')).toEqual(Object.keys(PROVIDERS))
  expect(firstColumn('Settings').sort()).toEqual([...OAUTH_SETTING_NAMES].sort())
  expect(firstColumn('When a sign-in fails')).toEqual(Object.keys(OAUTH_PROBLEMS))
  const statuses = [...GUIDE.matchAll(/^\| `oauth_\w+` \| (\d+) \|/gm)].map(([, status]) => Number(status))
  expect(statuses).toEqual(Object.values(OAUTH_PROBLEMS).map(({ status }) => status))
})

test('docs: parameters documented as rejected are rejected', () => {
  const [, list = ''] =
    /^The platform sets the following parameters itself and rejects settings with these names: (.*?)\.$/ms.exec(
      GUIDE,
    ) ?? []
  const names = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')
  expect(names).toHaveLength(15)
  const accepted = names.filter((name) => OAuthForm.safeParse({ api: 'Google', clientId: 'x', [name]: 'x' }).success)
  expect(accepted).toEqual([])
})
