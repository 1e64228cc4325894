import { generateKeyPair as generate, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { createClientSecrets } from '../../../host/oauth/client-secret.ts'

const generateKeyPair = promisify(generate)
const NOW = 1_800_000_000_000

function secretsWith(value: string) {
  const asked: string[][] = []
  const forHost = async (...question: [string, string, string]) => {
    asked.push(question)
    return question[2] === 'id.example.org' || question[2] === '127.0.0.1:9000' ? value : null
  }
  return { asked, clientSecrets: createClientSecrets({ forHost }, () => NOW) }
}

const client = (
  apiSecret: string | null,
  signedSecret: { teamId: string; keyId: string } | null = null,
  userInfoEndpoint: string | null = null,
) => ({ clientId: 'org.example.web', apiSecret, signedSecret, userInfoEndpoint })
const TOKEN = 'https://id.example.org/token'

test('client secret: a client without a secret sends none, and a literal secret is sent unchanged; the operator’s secrets are not read', async () => {
  const { asked, clientSecrets } = secretsWith('of the operator')
  expect(await clientSecrets.secretFor('crm', client(null), TOKEN)).toBeNull()
  expect(await clientSecrets.secretFor('crm', client('written'), TOKEN)).toBe('written')
  expect(asked).toEqual([])
})

test('client secret: %%NAME%% stands for the operator’s secret for the token endpoint’s host and port', async () => {
  const { asked, clientSecrets } = secretsWith('of the operator')
  expect(await clientSecrets.secretFor('crm', client('%%IDP%%'), TOKEN)).toBe('of the operator')
  expect(await clientSecrets.secretFor('crm', client('%%IDP%%'), 'http://127.0.0.1:9000/t')).toBe('of the operator')
  expect(asked).toEqual([
    ['crm', 'IDP', 'id.example.org'],
    ['crm', 'IDP', '127.0.0.1:9000'],
  ])
})

test('client secret: an http URL is not accepted in place of https', async () => {
  const { asked, clientSecrets } = secretsWith('of the operator')
  const sent = clientSecrets.secretFor('crm', client('%%IDP%%'), 'http://id.example.org/token')
  await expect(sent).rejects.toMatchObject({ code: 'oauth_configuration' })
  expect(asked).toEqual([['crm', 'IDP', 'id.example.org:80']])
})

test('client secret: if the secret is the operator’s, user info is requested only from hosts that may receive the secret', async () => {
  const { clientSecrets } = secretsWith('of the operator')
  const at = (address: string, secret = '%%IDP%%') =>
    clientSecrets.secretFor('crm', client(secret, null, address), TOKEN)
  const fine = ['https://id.example.org/me', 'https://api.id.example.org/me', 'http://127.0.0.1:9000/me']
  for (const address of fine) expect(await at(address)).toBe('of the operator')
  for (const address of ['https://evil.example/me', 'https://id.example.org:444/me', 'http://id.example.org/me']) {
    await expect(at(address)).rejects.toMatchObject({ code: 'oauth_configuration' })
    expect(await at(address, 'written')).toBe('written')
  }
})

test('client secret: if a secret is for another host, the error contains the secret’s name and the host', async () => {
  const { clientSecrets } = secretsWith('of the operator')
  await expect(clientSecrets.secretFor('crm', client('%%IDP%%'), 'https://evil.example/token')).rejects.toMatchObject({
    code: 'oauth_configuration',
    message: 'the operator must set the secret IDP and allow it for the host evil.example',
  })
})

test('client secret: Apple’s secret is a JWT, which is signed with the developer’s key each time', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const { clientSecrets } = secretsWith(pem)
  const made = await clientSecrets.secretFor('crm', client('%%APPLE%%', { teamId: 'TEAM', keyId: 'KEY' }), TOKEN)
  expect(decodeProtectedHeader(made ?? '')).toEqual({ alg: 'ES256', kid: 'KEY' })
  const { payload } = await jwtVerify(made ?? '', publicKey, { currentDate: new Date(NOW) })
  expect(payload).toEqual({
    iss: 'TEAM',
    sub: 'org.example.web',
    aud: 'https://appleid.apple.com',
    iat: NOW / 1000,
    exp: NOW / 1000 + 300,
  })
})

test('client secret: a key that is not P-256 is rejected and not quoted', async () => {
  const rsa = await generateKeyPair('rsa', { modulusLength: 2048 })
  const other = await generateKeyPair('ec', { namedCurve: 'P-384' })
  const pems = [rsa, other].map(({ privateKey }) => privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
  for (const text of [
    ...pems,
    randomUUID(),
    `-----BEGIN PRIVATE KEY-----\n${randomUUID()}\n-----END PRIVATE KEY-----`,
  ]) {
    const { clientSecrets } = secretsWith(text)
    const made = clientSecrets.secretFor('crm', client('%%APPLE%%', { teamId: 'T', keyId: 'K' }), TOKEN)
    await expect(made).rejects.toMatchObject({ code: 'oauth_configuration' })
    await made.catch((error: Error) => {
      expect(error.message).not.toContain(text.slice(30, 50))
      expect(error.cause).toBeUndefined()
    })
  }
})
