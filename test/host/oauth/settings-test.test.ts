import { expect, test } from 'vitest'
import type { WrittenOAuthSettings } from '../../../host/oauth/oauth-settings.ts'
import { OAuthProblem } from '../../../host/oauth/problems.ts'
import { createProviderRequests } from '../../../host/oauth/provider-requests.ts'
import { createSettingsTest } from '../../../host/oauth/settings-test.ts'
import { createLimits } from '../../../runtime/limits.ts'

const ISSUER = 'https://id.example.org'
const NOW = Date.parse('2026-05-01T10:00:00Z')
const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  jwks_uri: `${ISSUER}/keys`,
}
const KEYS = { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'one', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] }
const CUSTOM = { api: 'Custom', clientId: 'us', issuer: ISSUER } as const

type Answers = Readonly<Record<string, object>>

/** Tests settings against a provider that sends these responses and this Date header. */
function tester(answers: Answers, date: string | null = 'Fri, 01 May 2026 10:00:00 GMT') {
  const asked: string[] = []
  const { refusalOf } = createProviderRequests({ request: () => Promise.reject() }, [], createLimits())
  const tested = createSettingsTest(
    {
      requests: {
        refusalOf,
        async getJson(address, seen) {
          asked.push(address)
          seen?.(date === null ? {} : { date })
          const answer = answers[address]
          if (answer === undefined) throw new OAuthProblem('oauth_provider', `${address} returned HTTP 404, not 200`)
          return answer as Record<string, unknown>
        },
      },
      clientSecrets: {
        async secretFor(_solution, { apiSecret }) {
          if (apiSecret === '%%SET%%') return 'the secret itself'
          throw new OAuthProblem('oauth_configuration', 'the operator has set no secret')
        },
      },
      limits: createLimits(),
    },
    () => NOW,
  )
  const run = async (settings: WrittenOAuthSettings | null) => {
    const steps = await tested('crm', settings, 'the settings')
    return Object.fromEntries(steps.map(({ step, result, message }) => [step, [result, message]]))
  }
  return { run, asked }
}

const SOUND = { [`${ISSUER}/.well-known/openid-configuration`]: DOCUMENT, [`${ISSUER}/keys`]: KEYS }
const EARLIER = ['skipped', 'This step was skipped, because an earlier step failed.']

test('settings test: every step succeeds for valid settings, and the secret is not shown', async () => {
  const { run, asked } = tester(SOUND)
  expect(await run({ ...CUSTOM, apiSecret: '%%SET%%' })).toEqual({
    settings: ['ok', 'The settings are complete for Custom: response type code, PKCE S256.'],
    discovery: ['ok', `The discovery document is valid; its issuer is ${ISSUER}.`],
    endpoints: ['ok', `sign-in ${ISSUER}/authorize, token ${ISSUER}/token, keys ${ISSUER}/keys.`],
    keys: ['ok', 'The key set has one usable key for EdDSA, Ed25519.'],
    secret: [
      'ok',
      'The secret is set and can be sent to id.example.org. The first sign-in will show whether it is correct.',
    ],
    clock: [
      'ok',
      'The clock of id.example.org is 1 s ahead of this host’s clock. A difference of up to 60 s is allowed.',
    ],
  })
  expect(asked).toEqual([`${ISSUER}/.well-known/openid-configuration`, `${ISSUER}/keys`])
})

test('settings test: if there are no settings, nothing is requested', async () => {
  const { run, asked } = tester(SOUND)
  expect(await run(null)).toEqual({
    settings: [
      'failed',
      'oauth_configuration: there are no OAuth settings to test: send them in the request body, or set them with PUT',
    ],
    discovery: EARLIER,
    endpoints: EARLIER,
    keys: EARLIER,
    secret: EARLIER,
    clock: ['skipped', 'No response from the provider had a Date header, so the clocks could not be compared.'],
  })
  expect(asked).toEqual([])
})

test('settings test: if the issuer in the discovery document doesn’t match, all later steps except the clock are skipped', async () => {
  const { run } = tester({ ...SOUND, [`${ISSUER}/.well-known/openid-configuration`]: { ...DOCUMENT, issuer: 'x' } })
  const { discovery, endpoints, keys, clock } = await run(CUSTOM)
  expect(discovery).toEqual([
    'failed',
    `oauth_provider: the issuer in the discovery document must be exactly "${ISSUER}", but is "x"`,
  ])
  expect([endpoints, keys, clock?.[0]]).toEqual([EARLIER, EARLIER, 'ok'])
})

test('settings test: missing keys and a missing secret are both reported', async () => {
  const { run } = tester({ [`${ISSUER}/.well-known/openid-configuration`]: DOCUMENT })
  const { keys, secret } = await run({ ...CUSTOM, apiSecret: '%%MISSING%%' })
  expect(keys).toEqual(['failed', `oauth_provider: ${ISSUER}/keys returned HTTP 404, not 200`])
  expect(secret).toEqual(['failed', 'oauth_configuration: the operator has set no secret'])
})

test('settings test: if the settings contain all endpoints, no document is requested', async () => {
  const { run, asked } = tester(SOUND)
  const { discovery } = await run({
    api: 'Custom',
    clientId: 'us',
    authorizationBaseUrl: `${ISSUER}/a`,
    accessTokenEndpoint: `${ISSUER}/t`,
    jwks_uri: `${ISSUER}/keys`,
  })
  expect(discovery).toEqual(['skipped', 'The settings contain all required URLs, so no discovery document is needed.'])
  expect(asked).toEqual([`${ISSUER}/keys`])
})

test('settings test: GitHub has no ID tokens, so no keys are requested', async () => {
  const { run, asked } = tester({})
  const { settings, keys } = await run({ api: 'GitHub', clientId: 'us', apiSecret: '%%SET%%' })
  expect([settings?.[0], keys?.[0], asked]).toEqual(['ok', 'skipped', []])
})

test.each([
  ['Fri, 01 May 2026 09:58:59 GMT', 'failed', '61 s behind'],
  ['Fri, 01 May 2026 10:00:59 GMT', 'ok', '60 s ahead of'],
  ['Fri, 01 May 2026 10:05:00 GMT', 'failed', '301 s ahead of'],
])('settings test: if the provider’s clock says %s, the result is: %s', async (date, result, apart) => {
  const { clock } = await tester(SOUND, date).run(CUSTOM)
  expect(clock?.[0]).toBe(result)
  expect(clock?.[1]).toContain(`is ${apart} this host’s`)
})

test('settings test: the clock is not checked if the responses have no Date header', async () => {
  const { clock } = await tester(SOUND, null).run(CUSTOM)
  expect(clock).toEqual([
    'skipped',
    'No response from the provider had a Date header, so the clocks could not be compared.',
  ])
})
