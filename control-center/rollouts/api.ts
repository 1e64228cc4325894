import type { Context } from 'koa'
import { versionNotFound } from '../../base/bundles/version-not-found.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type MemberRoute, route } from '../access/route.ts'
import { EnvironmentName, type Environments } from '../environments/environments.ts'
import type { Packages } from '../packages/packages.ts'
import {
  MOVES,
  type Move,
  PACES,
  ROLLOUT_STATES,
  type Rollout,
  type RolloutState,
  type Rollouts,
  STEP_STATES,
} from './rollouts.ts'
import type { RolloutRunner } from './runner.ts'

export type RolloutApiParts = {
  readonly environments: Environments
  readonly packages: Pick<Packages, 'findVersion'>
  readonly rollouts: Rollouts
  readonly rolloutRunner: Pick<RolloutRunner, 'wake'>
}

const VERSION = /^([a-z0-9-]{1,63})@([0-9a-f]{64})$/
export const DEFAULT_PATIENCE = 600

const NewRollout = z
  .strictObject({
    version: z
      .string()
      .regex(VERSION, 'must be the package’s name, "@" and the SHA-256 of one of its versions')
      .describe('`{package}@{sha256}`'),
    environments: z
      .array(EnvironmentName)
      .min(1)
      .max(200)
      .refine((names) => new Set(names).size === names.length, 'must not contain the same environment twice')
      .describe('names of the environments, in the order of the rollout'),
    pace: z.enum(PACES).default('one-by-one').describe('"all" changes all environments at the same time'),
    patience: z.coerce
      .number()
      .int()
      .min(10)
      .max(86_400)
      .default(DEFAULT_PATIENCE)
      .describe('timeout per environment, in seconds'),
  })
  .meta({ id: 'NewRollout' })

/** Parses a version in the format that `NewRollout` accepts; for any other text, returns empty names. */
export function versionOf(text: string): { readonly package: string; readonly sha256: string } {
  const [, name = '', sha256 = ''] = VERSION.exec(text) ?? []
  return { package: name, sha256 }
}

const Failure = z.object({
  code: z.enum(['refused', 'silent', 'changed', 'statement', 'unasked']),
  message: z.string(),
  faults: z.array(z.object({ message: z.string(), file: z.string().optional(), line: z.int().optional() })),
})

const RolloutAnswer = z
  .object({
    id: z.string(),
    package: SolutionName,
    sha256: z.string(),
    version: z.string(),
    state: z.enum(ROLLOUT_STATES),
    pace: z.enum(PACES),
    patience: z.int().describe('seconds'),
    createdAt: z.int().describe('epoch ms'),
    createdBy: z.string(),
    steps: z.array(
      z.object({
        environment: z.string(),
        state: z.enum(STEP_STATES),
        number: z.int().nullable().describe('sequence number of the desired state that contains this change'),
        startedAt: z.int().nullable(),
        endedAt: z.int().nullable(),
        before: z.string().nullable().describe('the version before the rollout; null if there was none'),
        failure: Failure.nullable(),
      }),
    ),
  })
  .meta({ id: 'Rollout' })

const SAYS: Readonly<Record<Move, string>> = {
  continue: 'Continue a halted rollout, starting with the environments that failed',
  cancel: 'Cancel the rollout; environments that have not been changed yet keep their version',
  'roll-back': 'Restore the previous versions of the changed environments',
}

export function rolloutRoutes({ environments, packages, rollouts, rolloutRunner }: RolloutApiParts): MemberRoute[] {
  async function create(organisation: string, createdBy: string, wanted: z.infer<typeof NewRollout>) {
    const { package: name, sha256 } = versionOf(wanted.version)
    const found = await packages.findVersion(organisation, name, sha256)
    if (found === null) throw versionNotFound(name, sha256)
    const places = await Promise.all(wanted.environments.map((place) => environments.need(organisation, place)))
    return rollouts.create({
      organisation,
      package: name,
      sha256,
      version: found.version,
      pace: wanted.pace,
      patience: wanted.patience * 1000,
      createdBy,
      environments: places.map(({ id }) => id),
    })
  }

  const DOES: Readonly<Record<Move, (rollout: Rollout) => Promise<void>>> = {
    async continue(rollout) {
      refuseFrom(rollout, 'continue')
      for (const { position, state } of rollout.steps) {
        if (state === 'failed') await rollouts.changeStep(rollout.id, position, ['failed'], { state: 'waiting' })
      }
      await change(rollout, 'continue', 'running')
    },
    async cancel(rollout) {
      await change(rollout, 'cancel', 'cancelled')
      // Environments in progress already have the new desired state, so their steps continue.
      for (const { position } of rollout.steps) {
        await rollouts.changeStep(rollout.id, position, ['waiting'], { state: 'left' })
      }
    },
    async 'roll-back'(rollout) {
      await change(rollout, 'roll-back', 'rolling-back')
    },
  }

  async function change(rollout: Rollout, move: Move, to: RolloutState): Promise<void> {
    refuseFrom(rollout, move)
    if (!(await rollouts.move(rollout.id, MOVES[move], to)))
      throw changedMeanwhile('The rollout has changed in the meantime. Get its current state, then try again.')
  }

  const moves = (Object.keys(MOVES) as Move[]).map((move) =>
    route(
      `POST /organisations/:organisation/rollouts/:rollout/${move}`,
      {
        summary: SAYS[move],
        right: 'rollouts',
        act: `rollout-${move}`,
        async names({ who, params }) {
          const rollout = await rollouts.need(who.organisation.id, params.rollout)
          return { target: `${rollout.package} ${rollout.version}` }
        },
        answers: { 200: RolloutAnswer },
      },
      async ({ who, params }) => {
        await DOES[move](await rollouts.need(who.organisation.id, params.rollout))
        rolloutRunner.wake()
        return answerOf(await rollouts.need(who.organisation.id, params.rollout))
      },
    ),
  )

  return [
    route(
      'GET /organisations/:organisation/rollouts',
      {
        summary: 'List the rollouts, newest first',
        right: 'read',
        answers: { 200: z.object({ items: z.array(RolloutAnswer) }) },
      },
      async ({ who }) => ({ items: (await rollouts.list(who.organisation.id)).map(answerOf) }),
    ),
    route(
      'POST /organisations/:organisation/rollouts',
      {
        summary: 'Start a rollout of a package version to several environments',
        right: 'rollouts',
        act: 'rollout-create',
        body: NewRollout,
        answers: { 201: RolloutAnswer },
      },
      async ({ who, body, names, ctx }) => {
        names.target = `${versionOf(body.version).package} ${body.environments.join(', ')}`
        const rollout = await create(who.organisation.id, who.name, body)
        rolloutRunner.wake()
        ctx.set('Location', `/api/organisations/${who.organisation.name}/rollouts/${rollout.id}`)
        return answerOf(rollout)
      },
    ),
    route(
      'GET /organisations/:organisation/rollouts/:rollout',
      { summary: 'Get a rollout and its progress', right: 'read', answers: { 200: RolloutAnswer } },
      async ({ who, params }) => answerOf(await rollouts.need(who.organisation.id, params.rollout)),
    ),
    ...moves,
  ]
}

function refuseFrom({ state }: Rollout, move: Move): void {
  if ((MOVES[move] as readonly RolloutState[]).includes(state)) return
  const states = new Intl.ListFormat('en', { type: 'disjunction' }).format(MOVES[move])
  throw changedMeanwhile(`"${move}" is possible only in the state ${states}. The rollout’s state is ${state}.`)
}

function changedMeanwhile(message: string): PlatformError {
  return new PlatformError('ERR_CHANGED_MEANWHILE', message)
}

export function rolloutIn(ctx: Context): string {
  return String((ctx.params as { rollout?: unknown }).rollout ?? '')
}

function answerOf({ patience, steps, ...rollout }: Rollout) {
  return {
    ...rollout,
    patience: patience / 1000,
    steps: steps.map(({ name, state, number, startedAt, endedAt, before, failure }) => {
      return { environment: name, state, number, startedAt, endedAt, before: before?.desired?.version ?? null, failure }
    }),
  }
}
