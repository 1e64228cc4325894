import { randomBytes } from 'node:crypto'
import type { Session } from '../../base/accounts/sessions.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Question } from '../../plugins/security/host.ts'
import { type ConfirmationParts, confirmationOf, isRecent } from './confirmation.ts'
import { confirmPressPath } from './paths.ts'

/** A button press that waits until the user has confirmed their identity. `reason` is in the user's language. */
export type AskedPress = Question & { readonly id: string }

type OfSession = Pick<Session, 'realm' | 'publicId'>

/**
 * Connects the client that asks for a confirmation with the page that checks it. Another host may serve that page. The
 * browser passes a question from the client to the page, and a proof back to the client. Both are encrypted, and valid
 * only for the session. The client accepts a proof only for its own question, and only once.
 */
export interface Presses {
  /** Whether the user has confirmed their identity recently enough, with a factor if they have one. */
  isConfirmed(session: Session, serverUrl: string): Promise<boolean>
  /** @returns the question's id, and the path of the page where the user confirms */
  ask(session: OfSession, question: Question): { readonly id: string; readonly href: string }
  /** @returns null if the question has expired, or belongs to another session */
  read(session: OfSession, question: string): AskedPress | null
  /** @returns the proof that the user has confirmed */
  prove(session: OfSession, press: Pick<AskedPress, 'id'>): string
  isProof(session: OfSession, press: Pick<AskedPress, 'id'>, proof: string): boolean
}

/** The lifetime of a question, and of its proof, in ms. */
export const QUESTION_TIME = 10 * 60_000

export type PressParts = ConfirmationParts & { readonly key: PlatformKey }

export function createPresses(parts: PressParts): Presses {
  const { key, now } = parts
  const purposeOf = (kind: 'press' | 'press-proof', { realm, publicId }: OfSession) => `${kind} ${realm} ${publicId}`

  function readContent<T>(kind: 'press' | 'press-proof', session: OfSession, encrypted: string): T | null {
    const text = key.decrypt(purposeOf(kind, session), encrypted)
    if (text === null) return null
    const { expiresAt, ...content } = JSON.parse(text) as T & { expiresAt: number }
    return expiresAt > now() ? (content as T) : null
  }

  return {
    // If the sign-in is too old, the result is false anyway, so don't read the factors.
    isConfirmed: async (session, serverUrl) =>
      isRecent(session, parts) && !(await confirmationOf({ session }, serverUrl, parts)).isNeeded,
    ask(session, { reason, every }) {
      const id = randomBytes(16).toString('base64url')
      const content = JSON.stringify({ id, reason, every, expiresAt: now() + QUESTION_TIME })
      const question = key.encrypt(purposeOf('press', session), content)
      return { id, href: `${confirmPressPath(session.realm)}?question=${question}` }
    },
    read: (session, question) => readContent<AskedPress>('press', session, question),
    prove: (session, { id }) =>
      key.encrypt(purposeOf('press-proof', session), JSON.stringify({ id, expiresAt: now() + QUESTION_TIME })),
    isProof: (session, { id }, proof) => readContent<{ id: string }>('press-proof', session, proof)?.id === id,
  }
}
