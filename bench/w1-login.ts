import { createScriptLab } from '../test/support/solutions.ts'
import { type Contestant, freshContexts, freshIsolates } from './bare-isolate.ts'
import { CREDENTIALS, labLogin } from './login.ts'
import type { Row } from './report.ts'
import { burst, each, figure, median, paced, ROUNDS } from './rounds.ts'

const LOGINS = 200

/**
 * Measurement W1: one login hook with fresh globals, in our sandbox process, compared with bare isolated-vm in this
 * process.
 */
export async function measureLogins(): Promise<Row[]> {
  const lab = createScriptLab()
  const hardened = createScriptLab({ manifest: { realm: 'hardened' } })
  const bare = freshContexts()
  const isolates = freshIsolates()
  const times = {
    ours: [] as number[],
    hardened: [] as number[],
    paced: [] as number[],
    barePaced: [] as number[],
    bare: [] as number[],
    isolates: [] as number[],
    burst: [] as number[],
  }
  for (let warm = 0; warm < 50; warm++) {
    await labLogin(lab)
    await labLogin(hardened)
    await bareLogin(bare)
  }
  for (let round = 0; round < ROUNDS; round++) {
    times.ours.push(await each(LOGINS, () => labLogin(lab)))
    times.bare.push(await each(LOGINS, () => bareLogin(bare)))
    times.hardened.push(await each(LOGINS, () => labLogin(hardened)))
    times.paced.push(await paced(LOGINS / 2, () => labLogin(lab)))
    times.barePaced.push(await paced(LOGINS / 2, () => bareLogin(bare)))
    times.isolates.push(await each(5, () => bareLogin(isolates)))
    times.burst.push(await burst(LOGINS, () => labLogin(lab)))
  }
  bare.end()
  lab.stop()
  hardened.stop()
  const [ours, waited, aloneWaited, alone, isolate, many] = [
    median(times.ours),
    median(times.paced),
    median(times.barePaced),
    median(times.bare),
    median(times.isolates),
    median(times.burst),
  ]
  const against = 'bare isolated-vm, fresh context, same process'
  const figures = (mine: number, theirs: number) => `${figure(mine)} ms : ${figure(theirs)} ms`
  return [
    {
      work: 'latency of one sign-in call (W1) through the sandbox process',
      against,
      reach: { atMost: 1.3 },
      unit: 'ratio',
      measured: ours / alone,
      details: figures(ours, alone),
    },
    {
      work: 'latency of one sign-in call (W1) through the sandbox process, hardened realm',
      against,
      reach: { atMost: 0.1 },
      unit: 'ratio',
      measured: median(times.hardened) / alone,
      details: figures(median(times.hardened), alone),
    },
    {
      work: 'latency of one sign-in call (W1) with pauses between calls, contexts created in advance',
      against: 'the same work in bare isolated-vm, also with pauses',
      reach: { atMost: 0.6 },
      unit: 'ratio',
      measured: waited / aloneWaited,
      details: `${figures(waited, aloneWaited)} (without pauses ${figure(alone)} ms)`,
    },
    {
      work: 'throughput of sign-in calls (W1) with 1 to 2 sandbox processes',
      against,
      reach: { atLeast: 1 },
      unit: 'ratio',
      measured: alone / many,
      details: `${figure(1000 / many)} : ${figure(1000 / alone)} logins/s`,
    },
    {
      work: 'latency of one sign-in call (W1)',
      against: 'a new isolate per call',
      reach: { atMost: 0.25 },
      unit: 'ratio',
      measured: ours / isolate,
      details: figures(ours, isolate),
    },
  ]
}

async function bareLogin(contestant: Contestant): Promise<void> {
  if (!contestant.login(JSON.stringify(CREDENTIALS)).includes('Welcome')) throw new Error('the login failed')
}
