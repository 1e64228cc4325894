import { createHash, createHmac } from 'node:crypto'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import type { AccessKeys, Registry, RegistryKeys, RegistryLogin } from '../registries/registries.ts'

/** Timeout of a login request, in ms. */
const PATIENCE = 20_000
const LONGEST = 64 * 1024

const Answer = z.object({
  authorizationData: z.array(z.object({ authorizationToken: z.string().max(10_000) })).min(1),
})

/**
 * Gets the credentials for logging in to a registry. Amazon ECR exchanges the access keys for a temporary password. All
 * other registries use the credentials as entered.
 * @param send replaces `fetch`
 * @throws ERR_REGISTRY_LOGIN
 */
export async function logInToRegistry(
  { host, region }: Pick<Registry, 'host' | 'region'>,
  keys: RegistryKeys,
  send: typeof fetch = fetch,
): Promise<RegistryLogin> {
  if ('username' in keys) return keys
  const place = `api.ecr.${region}.amazonaws.com${host.endsWith('.cn') ? '.cn' : ''}`
  const request = signedRequest({ place, region, keys, time: new Date() })
  const answer = await send(`https://${place}/`, {
    ...request,
    redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE),
  })
    .then(async (response) => ({ status: response.status, text: (await response.text()).slice(0, LONGEST) }))
    .catch((error: Error) =>
      refuse(`${place} cannot be reached (${error.message}). Check the host name and the network`),
    )
  if (answer.status !== 200) refuse(`${place} responded with HTTP ${answer.status}. Check the registry’s access keys`)
  const token = tokenOf(answer.text)
  const [username, password] = token?.split(':', 2) ?? []
  if (!username || !password)
    return refuse(`${place} did not return a password. Check that the host is an Amazon ECR registry`)
  return { username, password }
}

function tokenOf(text: string): string | null {
  try {
    const [first] = Answer.parse(JSON.parse(text)).authorizationData
    return Buffer.from(first?.authorizationToken ?? '', 'base64').toString('utf8')
  } catch {
    return null
  }
}

function refuse(what: string): never {
  throw new PlatformError('ERR_REGISTRY_LOGIN', `The sign-in to the registry failed: ${what}.`)
}

export type SignedRequest = {
  readonly place: string
  readonly region: string
  readonly keys: AccessKeys
  readonly time: Date
}

const BODY = '{}'
const TARGET = 'AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken'

/** @see AWS Signature Version 4, "Create a signed AWS API request" */
function signedRequest({ place, region, keys, time }: SignedRequest) {
  const stamp = time.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = stamp.slice(0, 8)
  const headers: Record<string, string> = {
    'content-type': 'application/x-amz-json-1.1',
    host: place,
    'x-amz-date': stamp,
    'x-amz-target': TARGET,
  }
  const names = Object.keys(headers).sort()
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('')
  const canonical = ['POST', '/', '', lines, names.join(';'), sha256(BODY)].join('\n')
  const scope = `${day}/${region}/ecr/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n')
  const signature = hmac(signingKey(keys.secretAccessKey, day, region, 'ecr'), toSign).toString('hex')
  const credential = `Credential=${keys.accessKeyId}/${scope}`
  const authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  const { host: _, ...sent } = headers
  return { method: 'POST', headers: { ...sent, authorization }, body: BODY }
}

export function signingKey(secret: string, day: string, region: string, service: string): Buffer {
  const parts = [day, region, service, 'aws4_request']
  return parts.reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secret}`))
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
