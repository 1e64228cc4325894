import type { Limits } from '../../runtime/limits.ts'
import { ALGORITHMS } from './algorithms.ts'
import type { ClientSecrets } from './client-secret.ts'
import { checkConfiguration, type OAuthConfiguration } from './configuration.ts'
import { fitsAlgorithm, readKeySet } from './key-set.ts'
import type { WrittenOAuthSettings } from './oauth-settings.ts'
import { OAuthProblem } from './problems.ts'
import type { Provider } from './provider.ts'
import { createProviderFinder } from './provider-finder.ts'
import type { ProviderRequests } from './provider-requests.ts'

/**
 * The steps of a test, in order: the settings are complete, the discovery document is valid, the endpoints are known,
 * the keys can be fetched, the secret may be sent to the provider, and the clocks agree.
 */
export type TestStepName = 'settings' | 'discovery' | 'endpoints' | 'keys' | 'secret' | 'clock'

/**
 * `skipped` means that the step does not apply, or that an earlier step failed. `message` contains the reason, and
 * never contains a secret.
 */
export type TestStep = {
  readonly step: TestStepName
  readonly result: 'ok' | 'failed' | 'skipped'
  readonly message: string
}

export type SettingsTestParts = {
  readonly requests: Pick<ProviderRequests, 'refusalOf' | 'getJson'>
  readonly clientSecrets: Pick<ClientSecrets, 'secretFor'>
  readonly limits: Pick<Limits, 'OAUTH_CLOCK_SKEW'>
}

/**
 * Tests everything about OAuth settings that can be tested without a sign-in. Nothing is cached: each test sends
 * requests to the provider.
 */
export type SettingsTest = (
  solution: string,
  settings: WrittenOAuthSettings | null,
  where: string,
) => Promise<readonly TestStep[]>

const STEPS = ['settings', 'discovery', 'endpoints', 'keys', 'secret', 'clock'] as const

/** @param now returns the current time in epoch milliseconds */
export function createSettingsTest(parts: SettingsTestParts, now: () => number = Date.now): SettingsTest {
  return async (solution, settings, where) => {
    const steps: TestStep[] = []
    const watched = watchRequests(parts.requests, now)
    const finder = createProviderFinder(watched, now)

    /**
     * Runs a step. If it fails, all further steps are skipped, except the clock step.
     * @returns the result of `work`; null if it failed
     */
    async function step<T>(
      name: TestStepName,
      work: () => T | Promise<T>,
      describe: (done: T) => string,
    ): Promise<T | null> {
      try {
        const done = await work()
        steps.push({ step: name, result: 'ok', message: describe(done) })
        return done
      } catch (error) {
        if (!(error instanceof OAuthProblem)) throw error
        steps.push({ step: name, result: 'failed', message: `${error.code}: ${error.message}` })
        return null
      }
    }
    const skip = (name: TestStepName, message: string) => void steps.push({ step: name, result: 'skipped', message })

    async function tryAll(): Promise<void> {
      const configuration = await step('settings', () => check(settings, where, watched), describeSettings)
      if (configuration === null) return
      const provider = await findProvider(configuration)
      if (provider === null) return
      steps.push({ step: 'endpoints', result: 'ok', message: describeEndpoints(provider) })
      await tryKeys(provider)
      await trySecret(configuration, provider)
    }

    async function findProvider(configuration: OAuthConfiguration): Promise<Provider | null> {
      const found = await step('discovery', () => finder.find(solution, configuration), describeIssuer)
      if (found === null || watched.asked() > 0) return found
      steps.pop()
      skip('discovery', 'The settings contain all required URLs, so no discovery document is needed.')
      return found
    }

    async function tryKeys({ hasIdToken, jwksUri }: Provider): Promise<void> {
      if (!hasIdToken || jwksUri === null) {
        return skip(
          'keys',
          'This provider issues no ID tokens, so no keys are needed: the host gets the user’s profile from the provider’s API.',
        )
      }
      const from = `the key set of ${new URL(jwksUri).host}`
      await step('keys', async () => readKeySet(await watched.getJson(jwksUri), from), describeKeys)
    }

    async function trySecret(configuration: OAuthConfiguration, { tokenEndpoint }: Provider): Promise<void> {
      if (configuration.apiSecret === null || tokenEndpoint === null || configuration.responseType !== 'code') {
        return skip('secret', 'With these settings, the host does not send a secret.')
      }
      await step(
        'secret',
        async () => void (await parts.clientSecrets.secretFor(solution, configuration, tokenEndpoint)),
        () =>
          `The secret is set and can be sent to ${new URL(tokenEndpoint).host}. The first sign-in will show whether it is correct.`,
      )
    }

    await tryAll()
    steps.push(clockStep(watched.clock(), parts.limits.OAUTH_CLOCK_SKEW))
    return STEPS.map((name) => steps.find((one) => one.step === name) ?? notReached(name))
  }
}

function check(
  settings: WrittenOAuthSettings | null,
  where: string,
  { refusalOf }: Pick<ProviderRequests, 'refusalOf'>,
): OAuthConfiguration {
  if (settings !== null) return checkConfiguration(settings, where, refusalOf)
  throw new OAuthProblem(
    'oauth_configuration',
    'there are no OAuth settings to test: send them in the request body, or set them with PUT',
  )
}

/** How far the provider's clock is ahead, in ms, according to the `Date` header, which is in whole seconds. */
type Clock = { readonly ahead: number; readonly host: string }

/** Wraps the requests to count them and to read the provider's clock. */
function watchRequests(requests: SettingsTestParts['requests'], now: () => number) {
  let asked = 0
  let clock: Clock | null = null
  return {
    refusalOf: requests.refusalOf,
    getJson(address: string) {
      asked++
      return requests.getJson(address, (headers) => {
        const date = Date.parse(headers.date ?? '')
        // The header is truncated to whole seconds, so the best estimate is half a second later.
        if (!Number.isNaN(date)) clock = { ahead: date + 500 - now(), host: new URL(address).host }
      })
    },
    asked: () => asked,
    clock: (): Clock | null => clock,
  }
}

function clockStep(clock: Clock | null, leeway: number): TestStep {
  if (clock === null) {
    return {
      step: 'clock',
      result: 'skipped',
      message: 'No response from the provider had a Date header, so the clocks could not be compared.',
    }
  }
  const seconds = Math.round(Math.abs(clock.ahead) / 1000)
  const apart = `The clock of ${clock.host} is ${seconds} s ${clock.ahead < 0 ? 'behind' : 'ahead of'} this host’s clock`
  return Math.abs(clock.ahead) <= leeway
    ? { step: 'clock', result: 'ok', message: `${apart}. A difference of up to ${leeway / 1000} s is allowed.` }
    : {
        step: 'clock',
        result: 'failed',
        message: `${apart}, but a difference of at most ${leeway / 1000} s is allowed. Synchronize this host’s clock with NTP, or raise OAUTH_CLOCK_SKEW.`,
      }
}

function notReached(step: TestStepName): TestStep {
  return { step, result: 'skipped', message: 'This step was skipped, because an earlier step failed.' }
}

function describeSettings({ api, responseType, pkce }: OAuthConfiguration): string {
  return `The settings are complete for ${api}: response type ${responseType}, ${pkce === null ? 'no PKCE' : `PKCE ${pkce}`}.`
}

function describeIssuer({ issuer }: Provider): string {
  return `The discovery document is valid; its issuer is ${issuer}.`
}

function describeEndpoints({ authorizationEndpoint, tokenEndpoint, jwksUri, userInfoEndpoint }: Provider): string {
  const known = { 'sign-in': authorizationEndpoint, token: tokenEndpoint, keys: jwksUri, 'user info': userInfoEndpoint }
  const listed = Object.entries(known).flatMap(([name, address]) => (address === null ? [] : [`${name} ${address}`]))
  return `${listed.join(', ')}.`
}

function describeKeys(keys: Awaited<ReturnType<typeof readKeySet>>): string {
  const algorithms = Object.keys(ALGORITHMS).filter((name) => keys.some((key) => fitsAlgorithm(key, name)))
  const count = keys.length === 1 ? 'one usable key' : `${keys.length} usable keys`
  return `The key set has ${count} for ${algorithms.join(', ')}.`
}
