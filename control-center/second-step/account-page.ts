import type Router from '@koa/router'
import { FACTOR_ACTS, type FactorPage } from '../../base/accounts/factor-acts.ts'
import { shownFactors } from '../../base/accounts/usable-factors.ts'
import { goTo } from '../../base/http/go-to.ts'
import { passkeyScript } from '../../base/web/pages.ts'
import { personsFactors } from '../access/confirmations.ts'
import { originOf, REALM } from '../access/page-sessions.ts'
import { passkeyPageOf } from '../accounts/passkey-page.ts'
import { sendPage, textFor } from '../pages/page.ts'
import { formModel } from './complete.ts'
import { CONFIRM_PATH } from './confirm-page.ts'
import { type Asked, addOwnPage, type Fields } from './own-pages.ts'
import type { SecondStepParts } from './parts.ts'
import { showCodes } from './set-up.ts'

const ACCOUNT = '/account'

/** The page where people manage how they sign in. */
export function addAccountPage(router: Router, parts: SecondStepParts): void {
  addOwnPage(router, ACCOUNT, (asked) => sendAccount(asked, null, 200, parts), submit, parts)
}

/** The button below new recovery codes only links back to the page, so it sends no `act`. */
async function submit(asked: Asked, fields: Fields, parts: SecondStepParts): Promise<void> {
  const { ctx, session } = asked
  const act = FACTOR_ACTS.get(fields.get('act') ?? '')
  if (act === undefined) return goTo(ctx, ACCOUNT)
  if (await parts.confirmations.isNeeded(session.session)) return goTo(ctx, `${CONFIRM_PATH}?to=${ACCOUNT}`)
  await act(factorPageOf(asked, parts), fields, parts)
}

function factorPageOf(asked: Asked, parts: SecondStepParts): FactorPage {
  const { ctx, user, session } = asked
  const { credentials, pageSessions, organisations, sessions, openSignIns } = parts
  const account = personsFactors(user.uid)
  const shown = { ...formModel(ACCOUNT, session.csrfToken), cancelHref: ACCOUNT, passkeyScript }
  const send = (template: 'new-app' | 'new-passkey', heading: string, model: object, status: number) =>
    sendPage(ctx, { template, heading: textFor(ctx)(heading), model: { ...shown, ...model }, status }, null)
  return {
    page: passkeyPageOf(ctx),
    account,
    user: session.session,
    path: ACCOUNT,
    note: (action, outcome) => credentials.note(ctx, user.username, action, outcome),
    confirm: (method) => pageSessions.confirm(session, method),
    async endOthers() {
      await sessions.endOfAccount({ factorsOf: 'users', uid: user.uid }, REALM, session.session.publicId)
      await openSignIns.endOfAccount(account, null)
    },
    mustKeep: async (_id, factors) => factors.length === 1 && (await organisations.requireSecondFactor(user.uid)),
    show: {
      account: (refusal, status) => sendAccount(asked, refusal, status, parts),
      newApp: (app, refusal, status) => send('new-app', 'platform.setup.own', { app, refusal }, status),
      newPasskey: (passkey, refusal, status) =>
        send('new-passkey', 'platform.passkey.add', { passkey, refusal }, status),
      codes: (codes) => showCodes(ctx, ACCOUNT, session.csrfToken, codes),
    },
  }
}

async function sendAccount(
  { ctx, user, session }: Asked,
  refusal: string | null,
  status: number,
  { factors, passkeyRequests, limits }: SecondStepParts,
): Promise<void> {
  const model = {
    ...formModel(ACCOUNT, session.csrfToken),
    ...shownFactors(await factors.of(personsFactors(user.uid)), originOf(ctx), passkeyRequests.places),
    user,
    leastLength: limits.PASSWORD_LENGTH,
    refusal,
  }
  sendPage(ctx, { template: 'account', heading: textFor(ctx)('center.account.title'), model, status }, null)
}
