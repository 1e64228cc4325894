import { describe, expect, test } from 'vitest'
import { Refusal, type WayOfSigningIn, walkSignIn } from '../../../base/accounts/sign-in-steps.ts'

type Step = 'ownPage' | 'throttle' | 'source' | 'secondStep' | 'accept'
type Fake = WayOfSigningIn<string, string, string, { readonly username: string }, string[], string>

/** Each step appends its name to the list `done`. The step named by `last` returns `end()`. */
function fakeWay(last?: Step, end: () => Refusal<string> = () => refused('refused')): Fake {
  const step = <Value>(name: Step, done: string[], value: Value) => {
    done.push(name)
    return name === last ? end() : value
  }
  return {
    ownPage: (asked, done) => step('ownPage', done, `${asked} from the page`),
    throttle: (_attempt, done) => step('throttle', done, null),
    source: (attempt, done) => step('source', done, `${attempt}, checked`),
    secondStep: (_attempt, _accepted, done) => step('secondStep', done, null),
    accept: (_attempt, accepted, done) => step('accept', done, { username: accepted }),
    audit: (_asked, { outcome, username }, done) => void done.push(`audit ${outcome} of ${username}`),
    redirect(_asked, _signedIn, done) {
      done.push('redirect')
      return 'signed in'
    },
  }
}

function refused(outcome: string | null): Refusal<string> {
  return new Refusal(outcome === null ? null : { outcome, username: 'anna' }, () => 'told')
}

describe('walkSignIn', () => {
  test('a user that no step rejects passes all steps in order, and each step gets the result of the previous one', async () => {
    const done: string[] = []
    expect(await walkSignIn(fakeWay(), 'anna', done)).toBe('signed in')
    const audited = 'audit ok of anna from the page, checked'
    expect(done).toEqual(['ownPage', 'throttle', 'source', 'secondStep', 'accept', audited, 'redirect'])
  })

  const steps: readonly Step[] = ['ownPage', 'throttle', 'source', 'secondStep', 'accept']
  test.each(steps)(
    'a rejection in the step "%s" is recorded and sent to the user, and no later step runs',
    async (last) => {
      const done: string[] = []
      expect(await walkSignIn(fakeWay(last), 'anna', done)).toBe('told')
      expect(done).toEqual([...steps.slice(0, steps.indexOf(last) + 1), 'audit refused of anna'])
    },
  )

  test('a rejected request that was not a sign-in attempt is not recorded', async () => {
    const done: string[] = []
    expect(
      await walkSignIn(
        fakeWay('ownPage', () => refused(null)),
        'anna',
        done,
      ),
    ).toBe('told')
    expect(done).toEqual(['ownPage'])
  })

  test('a rejection is sent after the audit log entry is written', async () => {
    const done: string[] = []
    const answer = () => {
      done.push('answer')
      return 'told'
    }
    await walkSignIn(
      fakeWay('source', () => new Refusal({ outcome: 'busy', username: 'anna' }, answer)),
      'anna',
      done,
    )
    expect(done).toEqual(['ownPage', 'throttle', 'source', 'audit busy of anna', 'answer'])
  })

  test('without a throttle or an audit log step, a sign-in method continues with the next step', async () => {
    const done: string[] = []
    const way = { ...fakeWay(), throttle: { none: 'nothing to guess' }, audit: { none: 'recorded elsewhere' } }
    expect(await walkSignIn(way, 'anna', done)).toBe('signed in')
    expect(done).toEqual(['ownPage', 'source', 'secondStep', 'accept', 'redirect'])
  })

  const afterPage: readonly Step[] = ['throttle', 'source', 'accept']
  test.each(afterPage)(
    'an error in the step "%s" is thrown, or becomes the rejection that "failed" returns',
    async (last) => {
      const broken = fakeWay(last, () => {
        throw new Error('away')
      })
      await expect(walkSignIn(broken, 'anna', [])).rejects.toThrow('away')
      const done: string[] = []
      const failed: Fake['failed'] = (_attempt, error) => refused((error as Error).message)
      expect(await walkSignIn({ ...broken, failed }, 'anna', done)).toBe('told')
      expect(done.slice(-2)).toEqual([last, 'audit away of anna'])
    },
  )
})
