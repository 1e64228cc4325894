import { goTo } from '../../base/http/go-to.ts'
import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { type FoundLink, type LinkKind, tokenIn } from '../links/links.ts'
import type { Arrival } from '../login/arrival.ts'
import { readPlatformForm } from '../login/own-page.ts'
import { sendPage } from '../login/send-page.ts'
import { formModel } from '../second-step/send-pages.ts'
import { addressVerifiedPage, linkAddressPage, linkOpenedPage, linkPasswordPage } from '../web/pages.ts'
import type { SelfServiceParts } from './self-service-parts.ts'

/** The pages that links open. A link doesn't sign anyone in, and doesn't bypass a second factor. */
export const LINK_PAGES = {
  'new-password': { kind: 'password', submit: choosePassword },
  invitation: { kind: 'invitation', submit: choosePassword },
  'verify-address': { kind: 'verify', submit: verifyAddress },
} as const satisfies Record<string, { readonly kind: LinkKind; readonly submit: Submit }>

export type LinkPage = keyof typeof LINK_PAGES

type Opened = {
  readonly arrival: Arrival
  readonly page: LinkPage
  readonly token: string
  readonly found: FoundLink
  readonly fields: ReadonlyMap<string, string>
}
type Submit = (opened: Opened, parts: SelfServiceParts) => Promise<void>

/**
 * The token is in the URL's fragment, and the page's script sends it in a form. Opening the page doesn't use up the
 * link.
 */
export function showLinkPage(arrival: Arrival, page: LinkPage, parts: SelfServiceParts): void {
  const form = formModel(arrival, pathOf(arrival, page), parts)
  sendPage(arrival, 200, (frame) => linkOpenedPage(frame, { ...form, kind: LINK_PAGES[page].kind }))
}

export async function submitLinkPage(arrival: Arrival, page: LinkPage, parts: SelfServiceParts): Promise<void> {
  const fields = await readPlatformForm(arrival, parts)
  const token = tokenIn(fields)
  const { kind, submit } = LINK_PAGES[page]
  const found = await findLink(arrival, kind, token, parts)
  await submit({ arrival, page, token, found, fields }, parts)
}

/** Attempts with unknown tokens count towards the network's limit. @throws ERR_LINK_OVER, ERR_THROTTLED */
async function findLink(
  { ctx, solution, address }: Arrival,
  kind: LinkKind,
  token: string,
  { links, throttle }: SelfServiceParts,
): Promise<FoundLink> {
  const attempt = { source: 'link', username: '', address }
  const wait = await throttle.count(attempt, true)
  if (wait !== null) {
    throw new PlatformError('ERR_THROTTLED', `Too many attempts. Try again in ${wait} s.`, { retryAfter: wait })
  }
  const found = await links.find(solution.name, kind, token)
  if (found === null) throw over()
  await throttle.succeeded(attempt, true)
  ctx.set('Referrer-Policy', 'no-referrer')
  return found
}

async function choosePassword(opened: Opened, parts: SelfServiceParts): Promise<void> {
  const { arrival, found, fields } = opened
  const { ctx, solution, locale } = arrival
  const wanted = fields.get('new')
  if (wanted === undefined) return sendChoice(opened, null, parts)
  if (wanted !== fields.get('repeat'))
    return sendChoice(opened, platformText(locale, 'platform.password.differ'), parts)
  const fault = await parts.linkedUsers.choosePassword(found, wanted, locale)
  note(arrival, found, 'password-change', fault === null ? 'ok' : 'refused', parts)
  if (fault === 'over') throw over()
  if (fault !== null) return sendChoice(opened, platformText(locale, fault.key, fault.values), parts)
  goTo(ctx, `/solution/${solution.name}/index.html?password-changed`)
}

function sendChoice({ arrival, page, token, found }: Opened, refusal: string | null, parts: SelfServiceParts): void {
  const form = formModel(arrival, pathOf(arrival, page), parts)
  const { kind } = LINK_PAGES[page]
  const { username } = found.user
  const model = { ...form, kind, token, username, leastLength: parts.limits.PASSWORD_LENGTH, refusal }
  sendPage(arrival, refusal === null ? 200 : 422, (frame) => linkPasswordPage(frame, model))
}

async function verifyAddress({ arrival, page, token, found, fields }: Opened, parts: SelfServiceParts): Promise<void> {
  const { user, row } = found
  const address = row.address ?? ''
  const href = `/solution/${arrival.solution.name}/index.html`
  // Opening a link must not verify anything: mail scanners open links too, and some run scripts.
  if (fields.get('confirm') !== 'yes') {
    const form = formModel(arrival, pathOf(arrival, page), parts)
    const model = { ...form, token, address, username: user.username }
    return sendPage(arrival, 200, (frame) => linkAddressPage(frame, model))
  }
  if (!(await parts.links.take(found))) throw over()
  if (!(await parts.linkedUsers.verifyAddress(user, address))) throw over()
  note(arrival, found, 'address-change', 'ok', parts)
  if (user.email !== null && user.email !== address) {
    parts.notices.send('address', { ...user, locale: user.locale ?? arrival.locale })
  }
  const { title } = arrival.solution.manifest
  sendPage(arrival, 200, (frame) => addressVerifiedPage(frame, { solution: { title }, address, href }))
}

function note(
  { solution, address, correlationId }: Arrival,
  { user }: FoundLink,
  action: 'password-change' | 'address-change',
  outcome: string,
  { audit }: SelfServiceParts,
): void {
  audit.note({ actor: `user:${user.username}`, action, solution: solution.name, outcome, address, correlationId })
}

function pathOf({ solution }: Arrival, page: LinkPage): string {
  return `/solution/${solution.name}/${page}`
}

/**
 * The error for a link that can't be used. It is the same for a link that never existed, so that it doesn't reveal
 * which links exist.
 */
function over(): PlatformError {
  return new PlatformError(
    'ERR_LINK_OVER',
    'This link was already used, has expired, or became invalid because the password or address changed. Request a new one.',
  )
}
