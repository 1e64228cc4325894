import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { logInToRegistry } from '../../control-center/pipelines/registry-login.ts'
import { signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

let center: TestCenter
beforeAll(async () => {
  center = await startTestCenter()
})
afterAll(() => center?.stop())

describe('tokens for remote environments', () => {
  const all = 'organisations/acme/environments/plant/tokens'
  beforeAll(async () => {
    await center.parts.environments.create((await center.parts.organisations.find('acme'))?.id ?? '', {
      name: 'plant',
      type: 'onprem',
    })
  })

  /** Any Satellite route will do, because a valid token never gets a 401. */
  const isLetIn = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await ask(`${center.url}/satellite/v1/solutions/none/login-page`, { headers })).status !== 401
  }

  test('a token is shown only when it is created, and stored as a hash', async () => {
    const made = await center.api('POST', all, { name: 'Utrecht' })
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'Utrecht',
        createdAt: expect.any(Number),
        lastUsedAt: null,
        token: expect.stringMatching(/^ret_[\w-]{43}$/),
      },
    ])
    const browser = await signInToCenter(center)
    const places = [
      JSON.stringify((await center.api('GET', all)).body),
      (await browser.get('/o/acme/credentials')).text,
      (await browser.get('/o/acme/environments/plant')).text,
      JSON.stringify((await center.api('GET', 'organisations/acme/activity')).body),
      center.logged(),
    ]
    for (const place of places) expect(place).not.toContain(made.body.token)
    expect(places[1]).toContain('Utrecht')
  })

  test('after a rotation, the old token works until it is revoked; the revocation takes effect immediately', async () => {
    const first = (await center.api('POST', all, { name: 'rotates' })).body
    const second = (await center.api('POST', `${all}/${first.id}/rotate`)).body
    expect([second.name, second.token === first.token]).toEqual(['rotates', false])
    expect([await isLetIn(first.token), await isLetIn(second.token)]).toEqual([true, true])
    expect((await center.api('DELETE', `${all}/${first.id}`)).status).toBe(204)
    expect([await isLetIn(first.token), await isLetIn(second.token)]).toEqual([false, true])
    expect((await center.api('POST', `${all}/${first.id}/rotate`)).status).toBe(404)
    expect((await center.api('DELETE', `${all}/${first.id}`)).status).toBe(404)
  })

  test('a developer cannot see tokens', async () => {
    const developer = await center.tokenOf('developer')
    expect((await center.api('GET', all, undefined, developer)).status).toBe(403)
  })

  test('a token cannot be revoked through another environment', async () => {
    const made = (await center.api('POST', all, { name: 'stays' })).body
    await center.environment('elsewhere')
    const path = `organisations/acme/environments/elsewhere/tokens/${made.id}`
    expect((await center.api('DELETE', path)).status).toBe(404)
    expect(await isLetIn(made.token)).toBe(true)
  })
})

describe('registries', () => {
  const all = 'organisations/acme/registries'
  const WANTED = {
    name: 'Images',
    host: '123456789012.dkr.ecr.eu-west-1.amazonaws.com',
    region: 'eu-west-1',
    namespace: 'acme/solutions',
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  }

  test('the keys are stored encrypted, and only four characters are shown', async () => {
    const { accessKeyId, secretAccessKey, ...open } = WANTED
    const made = await center.api('POST', all, WANTED)
    const shown = { ...open, username: null, keyEnd: 'MPLE', id: expect.any(String), createdAt: expect.any(Number) }
    expect([made.status, made.body]).toEqual([201, { ...shown, changedAt: expect.any(Number) }])
    const organisation = (await center.parts.organisations.find('acme'))?.id ?? ''
    expect(await center.parts.registries.secret(organisation, made.body.id)).toEqual({ accessKeyId, secretAccessKey })
    expect(await center.parts.registries.secret('another', made.body.id)).toBeNull()

    const db = await openCenterDatabase(center.parts.settings)
    const rows = JSON.stringify(await db.selectFrom('registries').selectAll().execute())
    await db.destroy()
    const browser = await signInToCenter(center)
    const places = [
      rows,
      JSON.stringify((await center.api('GET', all)).body),
      (await browser.get('/o/acme/credentials')).text,
      JSON.stringify((await center.api('GET', 'organisations/acme/activity')).body),
      center.logged(),
    ]
    for (const place of places) {
      expect(place).not.toContain(secretAccessKey)
      expect(place).not.toContain(accessKeyId)
    }
    expect(places[2]).toContain('MPLE')
  })

  test('changing the host requires all keys again, so that stored keys are not sent to another host', async () => {
    const { id } = (await center.api('POST', all, { ...WANTED, name: 'Replaced' })).body
    const { secretAccessKey: _, ...without } = WANTED
    const moved = { ...without, name: 'Replaced', host: 'registry.example.org:5000' }
    expect((await center.api('PUT', `${all}/${id}`, moved)).status).toBe(422)
    const { namespace } = WANTED
    const whole = { ...{ name: 'Replaced', host: moved.host, namespace }, username: 'pusher', password: 'x'.repeat(40) }
    expect((await center.api('PUT', `${all}/${id}`, whole)).body).toMatchObject({
      id,
      host: 'registry.example.org:5000',
      region: '',
      username: 'pusher',
      keyEnd: null,
    })
    expect((await center.api('PUT', `${all}/${id}`, { ...WANTED, name: 'Images' })).status).toBe(409)
    expect((await center.api('PUT', `${all}/unknown`, WANTED)).status).toBe(404)
  })

  test('deleting a registry deletes its stored keys', async () => {
    const { id } = (await center.api('POST', all, { ...WANTED, name: 'Deleted' })).body
    expect((await center.api('DELETE', `${all}/${id}`)).status).toBe(204)
    expect((await center.api('DELETE', `${all}/${id}`)).status).toBe(404)
  })

  test.each([
    ['host', 'https://registry.example.org'],
    ['host', 'registry.example.org/path'],
    ['host', 'a b'],
    ['region', 'eu west'],
    ['region', 'eu-west-2'],
    ['username', 'somebody'],
    ['password', 'of somebody'],
    ['namespace', '../acme'],
    ['namespace', 'Acme'],
    ['accessKeyId', 'short'],
    ['accessKeyId', `${'A'.repeat(20)}\nX`],
    ['secretAccessKey', 'with a space in between'],
    ['name', ''],
  ])('an invalid value is rejected: %s %s', async (field, value) => {
    const answer = await center.api('POST', all, { ...WANTED, name: 'Refused', [field]: value })
    expect([answer.status, answer.body.detail.includes(field)]).toEqual([422, true])
    expect(answer.text).not.toContain(WANTED.secretAccessKey)
  })
})

describe('registries other than Amazon', () => {
  const all = 'organisations/acme/registries'

  test.each([
    ['docker.io', 'acme', 'somebody', 'dckr_pat_abcdefghijklmnopqrstuvwxyz'],
    ['ghcr.io', 'acme-inc', 'somebody', 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'],
    ['registry.gitlab.com', 'group/project', 'gitlab+deploy-token-1', 'gldt-abcdefghijklmnopqrst'],
    ['harbor.example.org:8443', 'acme', 'robot$acme+push', 'short'],
    ['europe-docker.pkg.dev', 'project/images', '_json_key', '{\n  "type": "service_account"\n}'],
  ])(
    '%s: the control center signs in with username and password, and shows only the username',
    async (host, namespace, username, password) => {
      const made = await center.api('POST', all, { name: `at ${host}`, host, namespace, username, password })
      expect([made.status, made.body]).toMatchObject([201, { host, namespace, region: '', username, keyEnd: null }])
      expect(made.text).not.toContain(JSON.stringify(password).slice(1, -1))
      const organisation = (await center.parts.organisations.find('acme'))?.id ?? ''
      const keys = await center.parts.registries.secret(organisation, made.body.id)
      expect(keys && (await logInToRegistry({ host, region: '' }, keys))).toEqual({ username, password })
      const page = (await (await signInToCenter(center)).get('/o/acme/credentials')).text
      expect([page.includes(username), page.includes(password)]).toEqual([true, false])
    },
  )

  test.each([
    [{}, /requires username and password/],
    [{ username: 'somebody' }, /requires username and password/],
    [{ accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x'.repeat(40) }, /is not an Amazon ECR registry/],
    [{ username: 'some:body', password: 'x' }, /without spaces or colons/],
    [{ username: 'somebody', password: 'x', region: 'eu-west-1' }, /is not an Amazon ECR registry/],
    [{ username: 'somebody', password: 'with\u0000null' }, /password/],
  ])('the credentials %j are rejected', async (keys, why) => {
    const answer = await center.api('POST', all, { name: 'Refused', host: 'ghcr.io', namespace: 'acme', ...keys })
    expect([answer.status, answer.body.detail]).toEqual([422, expect.stringMatching(why)])
  })
})

test('the page shows the commands that start a Satellite, and the key to pin', async () => {
  const browser = await signInToCenter(center)
  const { text } = await browser.get('/o/acme/credentials')
  expect(text).toContain('-e ENVIRONMENT=onprem')
  expect(text).toContain(`-e CLOUD_URL=${center.url}`)
  expect(text).toContain(`-e CLOUD_PUBLIC_KEY=${center.parts.signing.publicKey}`)
})
