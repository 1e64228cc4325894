import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { availableLocales } from '../../base/bundles/messages.ts'
import { goTo } from '../../base/http/go-to.ts'
import { chooseLocale } from '../../base/http/languages.ts'
import type { Arrival } from '../login/arrival.ts'
import type { AccountModel } from '../web/pages.ts'
import { accountPath } from './paths.ts'
import type { SecondStepParts } from './second-step-parts.ts'

/** The languages that a user can choose. Each is listed under its own name. */
export function languagesOf({ texts }: ActiveSolution, locale: string): AccountModel['language'] {
  const available = availableLocales(texts)
  const options = available.map((one) => [one, nameOf(one)] as const)
  return { options, value: chooseLocale(locale, available) }
}

/** Changes the language of this session. For users in the users table, later sign-ins and emails use it too. */
export async function setLanguage(
  { ctx, solution }: Arrival,
  { session, cookie }: FoundSession,
  fields: ReadonlyMap<string, string>,
  { sessions, users }: SecondStepParts,
): Promise<void> {
  const locale = availableLocales(solution.texts).find((one) => one === fields.get('language'))
  if (locale === undefined) return goTo(ctx, accountPath(solution.name))
  await sessions.change(solution.name, cookie, { locale })
  if (session.factorsOf === 'users' && session.source === 'users') await users.change(session.uid, { locale })
  goTo(ctx, accountPath(solution.name, 'language'))
}

/** The language's own name, such as `Nederlands`; the tag itself if the runtime has no name for it. */
function nameOf(locale: string): string {
  try {
    const name = new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale
    return name.charAt(0).toLocaleUpperCase(locale) + name.slice(1)
  } catch {
    return locale
  }
}
