import { secretNameOf } from '../../base/oauth/secret-name.ts'
import { hostPortOf } from '../../runtime/host-port.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { OAuthProblem } from './problems.ts'

/** The secrets that authenticate a client at the token endpoint. */
export interface ClientSecrets {
  /**
   * @param tokenEndpoint where to send the secret. If the operator set the secret, they must have allowed this host
   * @returns null for a client without a secret
   * @throws OAuthProblem `oauth_configuration`
   */
  secretFor(
    solution: string,
    configuration: Pick<OAuthConfiguration, 'apiSecret' | 'signedSecret' | 'clientId' | 'userInfoEndpoint'>,
    tokenEndpoint: string,
  ): Promise<string | null>
}

/** The `aud` claim in a client secret for Apple. */
const APPLE = 'https://appleid.apple.com'
/** Lifetime of a signed secret, in seconds. Each request uses a new one. Apple accepts up to six months. */
const LIFETIME = 300

/** @param now returns the current time in epoch milliseconds */
export function createClientSecrets(secrets: Pick<Secrets, 'forHost'>, now: () => number = Date.now): ClientSecrets {
  async function resolve(solution: string, apiSecret: string, tokenEndpoint: string): Promise<string> {
    const name = secretNameOf(apiSecret)
    if (name === null) return apiSecret
    const host = placeOf(tokenEndpoint)
    const value = await secrets.forHost(solution, name, host)
    if (value !== null) return value
    throw new OAuthProblem(
      'oauth_configuration',
      `the operator must set the secret ${name} and allow it for the host ${host}`,
    )
  }

  /**
   * Checks the UserInfo URL, to which users' access tokens are sent. Its host must be the token endpoint's host, that
   * host with the prefix `api.` (GitHub), or a host that may receive the operator's secret. Otherwise, the author of
   * the settings could send users' access tokens to any host.
   */
  async function checkUserInfo(solution: string, apiSecret: string, userInfo: string, tokenEndpoint: string) {
    const name = secretNameOf(apiSecret)
    const [place, own] = [placeOf(userInfo), placeOf(tokenEndpoint)]
    if (name === null || place === own || place === `api.${own}`) return
    if ((await secrets.forHost(solution, name, place)) !== null) return
    const message = `the operator must allow the secret ${name} for the host ${place}, because "userInfoEndpoint" is on this host`
    throw new OAuthProblem('oauth_configuration', message)
  }

  return {
    async secretFor(solution, { apiSecret, signedSecret, clientId, userInfoEndpoint }, tokenEndpoint) {
      if (apiSecret === null) return null
      if (userInfoEndpoint !== null) await checkUserInfo(solution, apiSecret, userInfoEndpoint, tokenEndpoint)
      const secret = await resolve(solution, apiSecret, tokenEndpoint)
      return signedSecret === null ? secret : sign(secret, signedSecret, clientId, Math.floor(now() / 1000))
    },
  }
}

/** Returns the URL's `host`, or `host:port` unless the port is 443. So an http URL never matches an https one. */
function placeOf(address: string): string {
  const { host, port } = hostPortOf(new URL(address))
  return port === 443 ? host : `${host}:${port}`
}

/**
 * Returns the client secret that Apple requires: a JWT signed with the developer's key.
 * @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
 */
async function sign(
  privateKey: string,
  { teamId, keyId }: { readonly teamId: string; readonly keyId: string },
  clientId: string,
  nowInSeconds: number,
): Promise<string> {
  const { SignJWT } = await import('jose')
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: keyId })
    .setIssuer(teamId)
    .setSubject(clientId)
    .setAudience(APPLE)
    .setIssuedAt(nowInSeconds)
    .setExpirationTime(nowInSeconds + LIFETIME)
    .sign(await readKey(privateKey))
}

/** Reads the private key. Errors omit the parser's message, which may quote part of the key. */
async function readKey(text: string): Promise<CryptoKey> {
  try {
    const { importPKCS8 } = await import('jose')
    return await importPKCS8(text, 'ES256')
  } catch {
    const wanted = 'a P-256 private key in PKCS#8 format, as in Apple’s .p8 file'
    throw new OAuthProblem('oauth_configuration', `if "teamId" and "keyId" are set, "apiSecret" must be ${wanted}`)
  }
}
