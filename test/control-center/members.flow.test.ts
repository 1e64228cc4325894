import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'
import { createInvitations } from '../../control-center/organisations/invitations.ts'
import { NAVIGATION } from '../support/admin.ts'
import { CENTER_PASSWORD, OWNER, signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

let center: TestCenter
beforeAll(async () => {
  center = await startTestCenter()
})
afterAll(() => center?.stop())

let made = 0
/** Creates a separate organisation with an owner, for tests that change its members. */
async function newOrganisation() {
  const name = `org-${++made}`
  const username = `owner-${made}@example.org`
  const uid = await center.account(username)
  const { id } = await center.parts.organisations.create({ name, title: `Organisation ${made}` }, uid)
  const owner = await signInToCenter(center, username)
  const api: typeof owner.api = (method, path, body) => owner.api(method, `organisations/${name}${path}`, body)
  return { name, id, uid, username, api, page: (path: string) => owner.get(`/o/${name}${path}`) }
}

async function join(organisation: { readonly id: string }, username: string, role: 'owner' | 'viewer') {
  const uid = await center.account(username)
  const { invitations } = center.parts
  const { token } = await invitations.create(organisation.id, { email: username, role, invitedBy: 'test' })
  await invitations.accept(token, uid)
  return uid
}

function postInvitation(fields: Record<string, string>, cookie = '') {
  return ask(`${center.url}/invitation`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded', ...(cookie && { cookie }) },
    body: new URLSearchParams(fields).toString(),
  })
}

const tokenOf = (link: string) => new URLSearchParams(new URL(link).hash.slice(1)).get('token') ?? ''

describe('organisation', () => {
  test('members can read the organisation’s title, and owners can change it', async () => {
    const { name, api, page } = await newOrganisation()
    expect((await api('GET', '')).body).toEqual({ name, title: expect.stringMatching(/^Organisation/), role: 'owner' })
    expect((await api('PATCH', '', { title: 'New <b>title</b>' })).body.title).toBe('New <b>title</b>')
    expect((await page('/members')).text).toContain('New &lt;b&gt;title&lt;/b&gt;')
    expect((await api('PATCH', '', { title: ' ' })).status).toBe(422)
  })
})

describe('members', () => {
  test('members are listed with name, role and the date they joined', async () => {
    const organisation = await newOrganisation()
    const uid = await join(organisation, 'lists@example.org', 'viewer')
    expect((await organisation.api('GET', '/members')).body.items).toEqual([
      { uid, username: 'lists@example.org', role: 'viewer', since: expect.any(Number), hasSecondFactor: false },
      {
        uid: organisation.uid,
        username: organisation.username,
        role: 'owner',
        since: expect.any(Number),
        hasSecondFactor: false,
      },
    ])
  })

  test('a changed role applies immediately', async () => {
    const organisation = await newOrganisation()
    const uid = await join(organisation, 'rises@example.org', 'viewer')
    const browser = await signInToCenter(center, 'rises@example.org')
    const create = () =>
      browser.api('POST', `organisations/${organisation.name}/environments`, { name: 'dev', type: 'dev' })
    expect((await create()).status).toBe(403)
    expect((await organisation.api('PATCH', `/members/${uid}`, { role: 'operator' })).status).toBe(204)
    expect((await create()).status).toBe(201)
    expect((await organisation.api('PATCH', `/members/${uid}`, { role: 'king' })).status).toBe(422)
    expect((await organisation.api('PATCH', '/members/nobody', { role: 'viewer' })).status).toBe(404)
  })

  test('a removed member loses access immediately; members can leave, but not remove others', async () => {
    const organisation = await newOrganisation()
    const uid = await join(organisation, 'goes@example.org', 'viewer')
    const other = await join(organisation, 'stays@example.org', 'viewer')
    const browser = await signInToCenter(center, 'goes@example.org')
    const path = `organisations/${organisation.name}/members`
    expect((await browser.api('DELETE', `${path}/${other}`)).status).toBe(403)
    expect((await browser.api('DELETE', `${path}/${uid}`)).status).toBe(204)
    expect((await browser.get(`/o/${organisation.name}/environments`)).status).toBe(404)
    expect((await organisation.api('DELETE', `/members/${other}`)).status).toBe(204)
    expect((await organisation.api('DELETE', `/members/${other}`)).status).toBe(404)
  })

  test('the last owner cannot be removed and cannot lose the role', async () => {
    const { api, uid } = await newOrganisation()
    for (const refused of [
      await api('PATCH', `/members/${uid}`, { role: 'viewer' }),
      await api('DELETE', `/members/${uid}`),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([409, 'ERR_LAST_OWNER'])
    }
    expect((await api('GET', '/members')).body.items).toMatchObject([{ uid, role: 'owner' }])
  })

  test('if the last two owners remove each other at the same time, one remains', async () => {
    const organisation = await newOrganisation()
    const other = await join(organisation, 'second-owner@example.org', 'owner')
    const { organisations } = center.parts
    const outcomes = await Promise.allSettled([
      organisations.removeMember(organisation.id, organisation.uid),
      organisations.setRole(organisation.id, other, 'viewer'),
    ])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const owners = (await organisations.members(organisation.id)).filter(({ role }) => role === 'owner')
    expect(owners).toHaveLength(1)
  })
})

describe('invitations', () => {
  test('an invited person can create an account with the link and join; the link works once', async () => {
    const { name, api } = await newOrganisation()
    const invited = await api('POST', '/invitations', { email: 'Invited@Example.org', role: 'developer' })
    expect([invited.status, invited.body]).toMatchObject([
      201,
      { email: 'invited@example.org', role: 'developer', isMailed: false },
    ])
    expect(new URL(invited.body.link).pathname).toBe('/invitation')
    const token = tokenOf(invited.body.link)
    expect((await postInvitation({ token })).text).toContain('Choose a password')
    const short = await postInvitation({ token, as: 'new', password: 'short' })
    expect([short.status, short.text.includes('at least')]).toEqual([422, true])
    const done = await postInvitation({ token, as: 'new', password: CENTER_PASSWORD })
    expect([done.status, done.headers.location]).toEqual([303, `/o/${name}`])

    const browser = await signInToCenter(center, 'invited@example.org')
    expect((await browser.api('GET', `organisations/${name}`)).body.role).toBe('developer')
    expect((await postInvitation({ token, as: 'new', password: CENTER_PASSWORD })).status).toBe(410)
    expect((await api('GET', '/invitations')).body.items).toEqual([])
  })

  test('a person with an account can accept with its password, or while signed in', async () => {
    const { name, api } = await newOrganisation()
    await center.account('has@example.org')
    const invite = async (email: string) => (await api('POST', '/invitations', { email, role: 'viewer' })).body.link
    const token = tokenOf(await invite('has@example.org'))
    expect((await postInvitation({ token })).text).toContain('This address already has an account.')
    expect((await postInvitation({ token, as: 'existing', password: 'wrong' })).status).toBe(401)
    // The form for new accounts can't be used to bypass an existing account's password.
    expect((await postInvitation({ token, as: 'new', password: 'another long password' })).status).toBe(422)
    expect((await postInvitation({ token, as: 'existing', password: CENTER_PASSWORD })).status).toBe(303)

    await center.account('other-address@example.org')
    const browser = await signInToCenter(center, 'other-address@example.org')
    const second = tokenOf(await invite('someone@example.org'))
    expect((await postInvitation({ token: second, as: 'me' })).status).toBe(200)
    expect((await postInvitation({ token: second, as: 'me' }, browser.cookie)).status).toBe(303)
    expect((await browser.api('GET', `organisations/${name}`)).body.role).toBe('viewer')
  })

  test('a revoked invitation, and one replaced by a newer invitation to the same address, are invalid', async () => {
    const { api } = await newOrganisation()
    const invite = async () => (await api('POST', '/invitations', { email: 'twice@example.org', role: 'viewer' })).body
    const [first, second] = [await invite(), await invite()]
    expect((await postInvitation({ token: tokenOf(first.link) })).status).toBe(410)
    expect((await api('GET', '/invitations')).body.items).toMatchObject([{ id: second.id }])
    expect((await api('DELETE', `/invitations/${second.id}`)).status).toBe(204)
    expect((await postInvitation({ token: tokenOf(second.link) })).status).toBe(410)
    expect((await api('DELETE', `/invitations/${second.id}`)).status).toBe(404)
  })

  test('an invitation expires after 7 days and is deleted', async () => {
    const { id } = await newOrganisation()
    const clock = { now: Date.now() }
    await using stack = new AsyncDisposableStack()
    const db = await openCenterDatabase({ ...center.parts.settings })
    stack.defer(() => db.destroy())
    const invitations = createInvitations(db, () => clock.now)
    const { token } = await invitations.create(id, { email: 'late@example.org', role: 'viewer', invitedBy: 'test' })
    clock.now += 7 * 86_400_000 - 1
    expect(await invitations.find(token)).toMatchObject({ email: 'late@example.org' })
    clock.now += 1
    expect(await invitations.find(token)).toBeNull()
    expect(await invitations.accept(token, 'anybody')).toBeNull()
    await invitations.sweep()
    expect(await db.selectFrom('invitations').select('id').where('organisation', '=', id).execute()).toEqual([])
  })

  test.each(['no address', 'a@b@c', 'a@example.org, b@example.org', 'x <a@example.org>', ''])(
    'an invalid address is rejected: %s',
    async (email) => {
      const answer = await center.api('POST', 'organisations/acme/invitations', { email, role: 'viewer' })
      expect(answer.status).toBe(422)
    },
  )

  test('a member cannot be invited again, and the token is not in the database, the log or the activity list', async () => {
    const again = await center.api('POST', 'organisations/acme/invitations', { email: OWNER, role: 'viewer' })
    expect([again.status, again.body.code]).toEqual([409, 'ERR_NAME_EXISTS'])
    const wanted = { email: 'secret@example.org', role: 'viewer' }
    const { link } = (await center.api('POST', 'organisations/acme/invitations', wanted)).body
    const token = tokenOf(link)
    await postInvitation({ token })
    const { body } = await center.api('GET', 'organisations/acme/activity?action=invitation-create')
    expect(body.items[0]).toMatchObject({ subject: 'secret@example.org', outcome: 'ok' })
    const listed = (await center.api('GET', 'organisations/acme/invitations')).body
    for (const text of [JSON.stringify(body), JSON.stringify(listed), center.logged()])
      expect(text).not.toContain(token)
  })

  test('a form from another origin cannot accept an invitation', async () => {
    const answer = await ask(`${center.url}/invitation`, {
      method: 'POST',
      headers: { ...NAVIGATION, 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' },
      body: 'token=x',
    })
    expect(answer.status).toBe(403)
  })
})

describe('activity', () => {
  test('activity is sorted newest first, split into pages, and can be filtered by actor, action and outcome', async () => {
    const { api, username } = await newOrganisation()
    for (const title of ['One', 'Two', 'Three']) await api('PATCH', '', { title })
    const first = (await api('GET', '/activity?limit=2')).body
    expect(first.items.map(({ subject }: { subject: string }) => subject)).toEqual(['Three', 'Two'])
    const rest = (await api('GET', `/activity?limit=2&before=${first.next}`)).body
    expect([rest.items.map(({ subject }: { subject: string }) => subject), rest.next]).toEqual([['One'], undefined])
    const of = async (query: string) => (await api('GET', `/activity?${query}`)).body.items.length
    expect(await of(`actor=${encodeURIComponent(`user:${username}`)}&action=organisation-change`)).toBe(3)
    expect(await of('actor=user:nobody')).toBe(0)
    expect(await of('action=environment-create')).toBe(0)
    expect([await of('outcome=ok'), await of('outcome=ERR_NOT_FOUND')]).toEqual([3, 0])
    expect((await api('GET', '/activity?limit=0')).status).toBe(422)
  })

  test('in the activity list, an API token has its actor ID and name, even after it is deleted', async () => {
    const { api } = await newOrganisation()
    const wanted = { name: 'deploys', role: 'developer' }
    const { id } = (await api('POST', '/access-tokens', wanted)).body
    expect((await api('DELETE', `/access-tokens/${id}`)).status).toBe(204)
    expect((await api('DELETE', `/access-tokens/${id}`)).status).toBe(404)
    const { items } = (await api('GET', '/activity')).body as { items: { action: string; subject: string }[] }
    expect(items.map(({ action, subject }) => [action, subject])).toEqual([
      ['access-token-delete', `token:${id}`],
      ['access-token-delete', `token:${id} (deploys)`],
      ['access-token-create', `token:${id} (deploys)`],
    ])
  })

  test('the activity page shows and filters the same entries as the API', async () => {
    const { api, page } = await newOrganisation()
    await api('PATCH', '', { title: 'Seen' })
    await api('DELETE', '/access-tokens/none')
    const optionsOf = (text: string, name: string) => {
      const [, select = ''] = new RegExp(`<select id="${name}"[^>]*>(.*?)</select>`, 's').exec(text) ?? []
      return [...select.matchAll(/<option value="([^"]*)"( selected)?>/g)].map(
        ([, value = '', chosen = '']) => value + chosen,
      )
    }
    const { text } = await page('/activity')
    expect(text).toContain('organisation-change')
    expect(optionsOf(text, 'action')).toEqual(['', 'access-token-delete', 'organisation-change'])
    expect(optionsOf(text, 'outcome')).toEqual(['', 'ERR_NOT_FOUND', 'ok'])
    const refused = await page('/activity?outcome=ERR_NOT_FOUND&actor=')
    expect(refused.text.match(/<tr role="row">/g)).toHaveLength(2)
    expect(optionsOf(refused.text, 'outcome')).toEqual(['', 'ERR_NOT_FOUND selected', 'ok'])
    const none = await page('/activity?actor=&action=environment-create')
    expect(none.text).toContain('No matches.')
    expect(optionsOf(none.text, 'action')).toContain('environment-create selected')
  })
})

test.each(['members', 'invitations', 'access-tokens', 'activity', 'registries'])(
  'a viewer has no access to %s',
  async (path) => {
    const { name } = await newOrganisation()
    const viewer = await center.tokenOf('viewer', name)
    const answer = await center.api('GET', `organisations/${name}/${path}`, undefined, viewer)
    expect([answer.status, answer.body.code]).toEqual([403, 'ERR_FORBIDDEN'])
  },
)

describe('API tokens', () => {
  test('a token can be created, is shown once, and stops working as soon as it is revoked', async () => {
    const { name, api, page } = await newOrganisation()
    const expiresAt = Date.now() + 86_400_000
    const made = (await api('POST', '/access-tokens', { name: 'build', role: 'viewer', expiresAt })).body
    const use = () => center.api('GET', `organisations/${name}/environments`, undefined, made.token)
    expect((await use()).status).toBe(200)
    const { text } = await page('/access-tokens')
    expect([text.includes('build'), text.includes(made.token)]).toEqual([true, false])
    expect((await api('DELETE', `/access-tokens/${made.id}`)).status).toBe(204)
    expect((await use()).status).toBe(401)
    expect((await api('POST', '/access-tokens', { name: 'x', role: 'owner' })).status).toBe(422)
  })
})
