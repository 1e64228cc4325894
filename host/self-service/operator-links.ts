import type { Mail } from '../../base/mail/mail.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { LinkSolution, OperatorLinks, SendLinks } from '../links/send-links.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type OperatorLinksParts = {
  readonly sendLinks: SendLinks
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly store: Pick<SolutionStore, 'list'>
  readonly catalog: Pick<Catalog, 'active'>
  /** The solution that `/` redirects to. */
  readonly defaultSolution: () => Promise<string | null>
}

export function createOperatorLinks(parts: OperatorLinksParts): OperatorLinks {
  const { sendLinks, mail, store, catalog, defaultSolution } = parts

  async function solutions(): Promise<readonly LinkSolution[]> {
    const candidates = (await store.list()).filter(({ state, authenticator }) => {
      return state === 'active' && authenticator === 'DEFAULT'
    })
    const active = await Promise.all(candidates.map(({ name }) => catalog.active(name)))
    return active
      .filter((solution) => solution !== null && signInModeOf(solution) === 'DEFAULT')
      .map((solution) => ({ name: solution?.name ?? '', title: solution?.manifest.title ?? '' }))
  }

  return {
    needShare: sendLinks.needShare,
    fromOperator: sendLinks.fromOperator,
    isMailing: mail.isSetUp,
    solutions,
    async solutionFor(name) {
      const all = await solutions()
      const wanted = name ?? (await defaultSolution())
      const found = all.find((solution) => solution.name === wanted)
      if (found !== undefined) return found
      if (name !== undefined) {
        throw invalid(
          `"${name}" is not an active solution with the authenticator DEFAULT, so a link cannot open it. Choose another solution.`,
        )
      }
      const [only, ...others] = all
      if (only === undefined) {
        throw invalid(
          'The link can’t be created, because no active solution uses the authenticator DEFAULT. Upload one that does.',
        )
      }
      if (others.length === 0) return only
      const names = all.map((solution) => solution.name).slice(0, 20)
      throw invalid(
        `The request does not say which solution the link opens. Set \`solution\` to one of these names: ${names.join(', ')}.`,
      )
    },
  }
}

function invalid(message: string): PlatformError {
  return new PlatformError('ERR_REQUEST_INVALID', message)
}
