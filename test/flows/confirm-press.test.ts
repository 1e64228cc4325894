import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addApp, codeOf, wrongCode } from '../support/authenticator-app.ts'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf } from '../support/client-solution.ts'
import type { TestHost } from '../support/host.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'

// Tests `security.confirm` and buttons with `confirm`. A button press waits until its user has confirmed it, then takes
// effect once.

let host: Omit<TestHost, 'stop'>
beforeAll(async () => {
  host = await sharedHost()
  const parts = {
    elements: [
      label('wiped'),
      label('methods'),
      ...['wipe', 'each', 'leave', 'hide', 'methods_of', 'nowhere'].map(button),
      { ...button('asks'), onAction: 'wipeNow', confirm: 'i18n:reason' },
    ],
    script: `
      let count = 0
      const show = () => { forms.main.elements.wiped.label = String(count) }
      function wipeNow() { count += 1; show() }
      function wipe() { if (security.confirm('Wipe <b>all</b>')) wipeNow() }
      function each() { if (security.confirm('i18n:reason', { every: true })) wipeNow() }
      function leave() { security.confirm('Leave'); application.showForm('other') }
      function hide() { forms.main.elements.each.visible = false }
      function methods_of() { forms.main.elements.methods.label = security.getSignInMethods().join() }
      function nowhere() { application.executeLater(() => { try { security.confirm('later') } catch (error) { console.warn(error.message) } }, 1) }
    `,
    globals: `function onSolutionOpen() { try { security.confirm('open') } catch (error) { console.warn(error.message) } }`,
    files: {
      'i18n/default.json': JSON.stringify({ reason: 'Wipe it' }),
      'i18n/nl.json': JSON.stringify({ reason: 'Wis alles' }),
      'forms/other.json': JSON.stringify({ layout: [] }),
    },
  }
  await addClientSolution(host, 'wiping', { ...parts, manifest: { authenticator: 'DEFAULT' } })
  await addClientSolution(host, 'wiping-public', parts)
})

const open: ClientPage[] = []
afterAll(() => {
  for (const page of open) page.close()
})

type Browser = Awaited<ReturnType<typeof visit>>
const FRAMED = { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }

/** A browser with a remembered user, who has not entered credentials recently. */
async function remembered(name: string, headers: Record<string, string> = {}): Promise<Browser> {
  await addUser(host, name)
  const browser = await visit(host, 'wiping', headers)
  await browser.signIn(name, PASSWORD, { remember: 'on' })
  browser.close()
  await browser.open()
  return browser
}

async function clientOf(browser: Browser, options: Parameters<typeof openClient>[3] = {}) {
  const page = await openClient(host.url, 'wiping', browser, options)
  open.push(page)
  return page
}

const wiped = (page: ClientPage) => page.text('main', 'wiped')
const questions = (page: ClientPage) => page.frames.filter((frame) => frame.kind === 'confirm')
const messages = (page: ClientPage) =>
  page.frames.flatMap((frame) => (frame.kind === 'message' ? [frame.text] : [])).at(-1)

/** Waits until the page asks for confirmation. @returns the path of the page in the iframe */
async function questionOf(page: ClientPage): Promise<string> {
  return (await page.frame('confirm')).href
}

const tokenOf = (href: string) => new URL(href, host.url).searchParams.get('question') ?? ''
const proofIn = (html: string) => /data-confirmed="([^"]+)"/.exec(html)?.[1] ?? null

/** Submits the confirmation page in the iframe. @returns the response, and the proof in it */
async function confirm(browser: Browser, href: string, fields: Record<string, string> = { password: PASSWORD }) {
  await browser.get(href, FRAMED)
  const page = await browser.post(
    '/solution/wiping/confirm/press',
    { question: tokenOf(href), ...fields },
    { headers: FRAMED },
  )
  return { status: page.status, text: page.text, proof: proofIn(page.text) }
}

/** Sends a frame with the page's next number, and waits until the host has handled it. */
async function answer(page: ClientPage, frame: Record<string, unknown>): Promise<void> {
  const seq = page.nextSeq()
  page.send({ ...frame, seq })
  await page.until(`answer to ${frame.kind}`, () => page.frames.some((one) => one.kind === 'idle' && one.seq >= seq))
}

describe('a press for which a script requires a confirmation', () => {
  test('a press takes effect once after the password, and the next ones without a question', async () => {
    const browser = await remembered('cora')
    const page = await clientOf(browser)
    await page.press('main', 'wipe')
    expect(wiped(page)).toBe('0')
    const href = await questionOf(page)
    const shown = await browser.get(href, FRAMED)
    expect(shown.status).toBe(200)
    expect(shown.text).toContain('<blockquote class="reason"><bdi>Wipe &lt;b&gt;all&lt;/b&gt;</bdi></blockquote>')
    expect(shown.headers['content-security-policy']).toMatch(/frame-ancestors 'self'$/)
    const wrong = await confirm(browser, href, { password: 'wrong' })
    expect([wrong.status, wrong.proof]).toEqual([401, null])
    const { proof } = await confirm(browser, href)
    await answer(page, { kind: 'confirmed', proof })
    expect(wiped(page)).toBe('1')
    // A real page never sends the proof again. If a browser does, the press is not repeated.
    await answer(page, { kind: 'confirmed', proof })
    expect(wiped(page)).toBe('1')
    await page.press('main', 'wipe')
    await page.press('main', 'asks')
    expect([wiped(page), questions(page).length]).toEqual(['3', 1])
    expect((await browser.session()).json()).toMatchObject({ methods: ['password'], confirmedAt: expect.any(Number) })
    const { items } = await askAdmin(host, 'GET', 'audit?solution=wiping&action=confirm&actor=user:cora')
    expect((items as { outcome: string }[]).map(({ outcome }) => outcome)).toEqual(['ok', 'refused'])
  })

  test('with `every`, each press needs a separate confirmation, which does not count for the session', async () => {
    const browser = await remembered('dirk')
    const page = await clientOf(browser)
    for (const count of ['1', '2']) {
      await page.press('main', 'each')
      expect(questions(page)).toHaveLength(Number(count))
      const href = questions(page).at(-1)?.href ?? ''
      await answer(page, { kind: 'confirmed', proof: (await confirm(browser, href)).proof })
      expect(wiped(page)).toBe(count)
    }
    expect((await browser.session()).json()).toMatchObject({ confirmedAt: null })
  })

  test('a press is confirmed with a code if the user has an app, and scripts can read how the user signed in', async () => {
    await addUser(host, 'ella')
    const other = await visit(host, 'wiping')
    await other.signIn('ella')
    const { secret } = await addApp(other, 'wiping')
    const first = await visit(host, 'wiping')
    await first.signIn('ella', PASSWORD, { remember: 'on' })
    await first.post('/solution/wiping/second-step', { code: codeOf(secret, 0) })
    first.close()
    await first.open()
    const page = await clientOf(first)
    await page.press('main', 'asks')
    const href = await questionOf(page)
    expect((await first.get(href, FRAMED)).text).toContain('autocomplete="one-time-code"')
    expect((await confirm(first, href, { code: wrongCode(secret) })).status).toBe(401)
    // The password alone is not enough.
    expect((await confirm(first, href)).proof).toBeNull()
    await answer(page, { kind: 'confirmed', proof: (await confirm(first, href, { code: codeOf(secret, 1) })).proof })
    expect(wiped(page)).toBe('1')
    await page.press('main', 'methods_of')
    expect(page.text('main', 'methods')).toBe('password,totp')
  })

  test('the dialog quotes a translated reason in the user’s language', async () => {
    const browser = await remembered('femke', { 'accept-language': 'nl' })
    const page = await clientOf(browser)
    await page.press('main', 'asks')
    const shown = await browser.get(await questionOf(page), FRAMED)
    expect(shown.text).toContain('<bdi>Wis alles</bdi>')
    expect(shown.text).toContain('vraagt u deze actie te bevestigen')
  })

  test('a press is dropped if the form has changed in the meantime, and a message says so', async () => {
    const browser = await remembered('gijs')
    const page = await clientOf(browser)
    await page.press('main', 'each')
    const { proof } = await confirm(browser, await questionOf(page))
    await page.press('main', 'hide')
    await answer(page, { kind: 'confirmed', proof })
    expect([wiped(page), messages(page)]).toEqual([
      '0',
      'The form has changed in the meantime, so nothing was done. Try again.',
    ])
  })

  test('the page opens one dialog at a time, and none for 5 minutes after three refusals', async () => {
    const browser = await remembered('hugo')
    const page = await clientOf(browser)
    for (const count of [1, 2, 3]) {
      await page.press('main', 'wipe')
      await page.press('main', 'wipe')
      expect(questions(page)).toHaveLength(count)
      await answer(page, { kind: 'unconfirmed' })
    }
    await page.press('main', 'asks')
    expect(questions(page)).toHaveLength(3)
    expect(messages(page)).toBe('You have cancelled several times, so nothing was done. Try again in 5 min.')
    expect(wiped(page)).toBe('0')
  })

  test('the page asks again after a lost connection, but not after the page was reloaded', async () => {
    const browser = await remembered('ida')
    const page = await clientOf(browser)
    await page.press('main', 'wipe')
    const href = await questionOf(page)
    const { client } = await page.frame('hello')
    const again = await openClientPage(host.url, 'wiping', browser, { client, page: page.page })
    again.hello()
    expect(await questionOf(again)).toBe(href)
    const reloaded = await openClientPage(host.url, 'wiping', browser, { client })
    open.push(again, reloaded)
    reloaded.hello()
    await reloaded.frame('form')
    expect(questions(reloaded)).toEqual([])
    await answer(reloaded, { kind: 'confirmed', proof: (await confirm(browser, href)).proof })
    expect(wiped(reloaded)).toBe('0')
  })

  test('a press cannot be repeated if the same call showed another form, and the log says so', async () => {
    const browser = await remembered('jet')
    const page = await clientOf(browser)
    await page.press('main', 'leave')
    expect(questions(page)).toEqual([])
    const lines = (await linesOf(host, 'wiping')).map(({ message }) => message)
    expect(lines).toContain(
      'security.confirm had no effect, because the same event handler also showed another form. Call security.confirm first, and show the form only after the user has confirmed',
    )
  })
})

describe('forged confirmations are refused', () => {
  test('proofs of other presses, sessions and purposes have no effect', async () => {
    const browser = await remembered('karel')
    const page = await clientOf(browser)
    await page.press('main', 'each')
    const first = await confirm(browser, await questionOf(page))
    await answer(page, { kind: 'unconfirmed' })
    await page.press('main', 'each')
    const other = await remembered('lena')
    const ofOther = await clientOf(other)
    await ofOther.press('main', 'each')
    const foreign = await confirm(other, await questionOf(ofOther))
    const question = tokenOf(questions(page).at(-1)?.href ?? '')
    for (const proof of [first.proof, foreign.proof, question, '', 'x'.repeat(500)]) {
      await answer(page, { kind: 'confirmed', proof })
    }
    expect([wiped(page), wiped(ofOther)]).toEqual(['0', '0'])
    // The user can still confirm.
    const href = questions(page).at(-1)?.href ?? ''
    await answer(page, { kind: 'confirmed', proof: (await confirm(browser, href)).proof })
    expect(wiped(page)).toBe('1')
  })

  test('the page is shown only in a frame of its own origin, to its own session, and accepts only its own form', async () => {
    const browser = await remembered('mila')
    const page = await clientOf(browser)
    await page.press('main', 'each')
    const href = await questionOf(page)
    for (const [name, value] of [
      ['sec-fetch-dest', 'document'],
      ['sec-fetch-dest', 'empty'],
      ['sec-fetch-dest', 'object'],
      ['sec-fetch-site', 'cross-site'],
      ['sec-fetch-site', 'same-site'],
    ] as const) {
      expect((await browser.get(href, { ...FRAMED, [name]: value })).status).toBe(403)
    }
    // Other pages can't be shown in a frame.
    for (const path of ['confirm', 'account', 'index.html']) {
      expect((await browser.get(`/solution/wiping/${path}`, FRAMED)).status).toBe(403)
    }
    const stranger = await remembered('noor')
    const seen = await stranger.get(href, FRAMED)
    expect([seen.status, seen.text.includes('Wipe')]).toEqual([410, false])
    const nobody = await visit(host, 'wiping')
    expect((await nobody.get(href, FRAMED)).status).toBe(404)
    const fields = { question: tokenOf(href), password: PASSWORD }
    const path = '/solution/wiping/confirm/press'
    await browser.get(href, FRAMED)
    expect((await browser.post(path, fields, { headers: FRAMED, token: null })).status).toBe(403)
    const crossSite = { ...FRAMED, 'sec-fetch-site': 'cross-site' }
    expect((await browser.post(path, fields, { headers: crossSite })).status).toBe(403)
    expect((await browser.post(path, { ...fields, question: 'x' }, { headers: FRAMED })).status).toBe(410)
  })
})

test('security.confirm throws an error outside of onAction, and where nobody is signed in', async () => {
  const browser = await remembered('olga')
  const page = await clientOf(browser)
  await page.press('main', 'nowhere')
  const outside = 'security.confirm can be called only in onAction functions and listeners'
  const warned = async (solution: string) =>
    (await linesOf(host, solution)).filter(({ level }) => level === 'warn').map(({ message }) => message)
  await expect.poll(async () => (await warned('wiping')).filter((one) => one === outside).length).toBeGreaterThan(1)
  const anonymous = await openClient(host.url, 'wiping-public', await visit(host, 'wiping-public'))
  open.push(anonymous)
  await anonymous.press('main', 'asks')
  expect([wiped(anonymous), messages(anonymous)]).toEqual(['0', 'Sign in to do this.'])
  await anonymous.press('main', 'wipe')
  const errors = (await linesOf(host, 'wiping-public')).filter(({ level }) => level === 'error')
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringContaining('security.confirm: no user is signed in, so nobody can confirm'),
  ])
})
