import { randomUUID } from 'node:crypto'
import { firstRows } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase, CenterTables } from '../database/tables.ts'
import type { VersionHolder } from '../packages/packages.ts'
import { lockVersion } from '../packages/version-lock.ts'

/**
 * `halted`: an environment failed, and the remaining ones wait for a user's decision. `cancelled`: changed environments
 * keep the new version, and those in progress finish; the others are not changed. `rolling-back`, then `rolled-back`:
 * changed environments get their previous version back.
 */
export const ROLLOUT_STATES = ['running', 'halted', 'done', 'cancelled', 'rolling-back', 'rolled-back'] as const
export type RolloutState = (typeof ROLLOUT_STATES)[number]

/**
 * During a rollback, `undoing`, `undone` and `not-undone` correspond to `running`, `done` and `failed`. `left`: the
 * environment is not changed.
 */
export const STEP_STATES = ['waiting', 'running', 'done', 'failed', 'left', 'undoing', 'undone', 'not-undone'] as const
export type StepState = (typeof STEP_STATES)[number]

export const PACES = ['one-by-one', 'all'] as const

/** Why an environment failed: the reason reported by the Satellite or, if there is none, the control center's own. */
export type StepFailure = {
  readonly code: 'refused' | 'silent' | 'changed' | 'statement' | 'unasked'
  readonly message: string
  readonly faults: readonly {
    readonly message: string
    readonly file?: string | undefined
    readonly line?: number | undefined
  }[]
}

/** The version that the environment was supposed to run before the rollout; null if none was requested. */
export type Before = {
  readonly desired: { readonly sha256: string; readonly version: string } | null
}

export type RolloutStep = {
  readonly position: number
  /** The environment's id; `name` is its name. */
  readonly environment: string
  readonly name: string
  readonly state: StepState
  readonly number: number | null
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly before: Before | null
  readonly failure: StepFailure | null
}

/** Times are epoch ms; `patience` is in ms. */
export type Rollout = {
  readonly id: string
  readonly organisation: string
  readonly package: string
  readonly sha256: string
  readonly version: string
  readonly state: RolloutState
  readonly pace: (typeof PACES)[number]
  readonly patience: number
  readonly createdAt: number
  readonly createdBy: string
  readonly steps: readonly RolloutStep[]
}

export type NewRolloutRows = Pick<
  Rollout,
  'organisation' | 'package' | 'sha256' | 'version' | 'pace' | 'patience' | 'createdBy'
> & { readonly environments: readonly string[] }

/** The actions that users can perform on a rollout, and the states in which each is allowed. */
export const MOVES = {
  continue: ['halted'],
  cancel: ['running', 'halted'],
  'roll-back': ['running', 'halted', 'done', 'cancelled'],
} as const satisfies Record<string, readonly RolloutState[]>
export type Move = keyof typeof MOVES

export type StepChange = Partial<Pick<RolloutStep, 'state' | 'number' | 'startedAt' | 'endedAt' | 'before' | 'failure'>>

/**
 * Stores rollouts. Every change specifies the state that it is based on, so that only one of two concurrent changes
 * takes effect.
 */
export interface Rollouts {
  /**
   * @throws ERR_ROLLOUT_RUNNING if another rollout of the package is unfinished in one of the environments,
   *   ERR_VERSION_NOT_FOUND if the version was deleted in the meantime
   */
  create(wanted: NewRolloutRows): Promise<Rollout>
  /** @returns the organisation's rollouts, newest first. @param most defaults to `MOST_LISTED` */
  list(organisation: string, most?: number): Promise<readonly Rollout[]>
  /** @throws ERR_NOT_FOUND */
  need(organisation: string, id: string): Promise<Rollout>
  /**
   * The rollouts of all organisations that are in progress or being rolled back, and cancelled ones that have
   * environments in progress.
   */
  active(): Promise<readonly Rollout[]>
  /** Changes a rollout's state. @returns false if its current state is not in `from` */
  move(id: string, from: readonly RolloutState[], to: RolloutState): Promise<boolean>
  /** Changes a rollout's step. @returns false if its current state is not in `from` */
  changeStep(id: string, position: number, from: readonly StepState[], change: StepChange): Promise<boolean>
  /**
   * Describes an unfinished rollout that may still need a version; null if there is none. Checked before a version is
   * deleted.
   */
  readonly holder: VersionHolder
}

const MOST_LISTED = 100
const UNFINISHED = ['running', 'halted', 'rolling-back'] as const

/** @param now returns the current time in epoch milliseconds */
export function createRollouts(db: CenterDatabase, now: () => number = Date.now): Rollouts {
  async function withSteps(rows: readonly RolloutRow[]): Promise<readonly Rollout[]> {
    if (rows.length === 0) return []
    const steps = await db
      .selectFrom('rollout_steps')
      .innerJoin('environments', 'environments.id', 'rollout_steps.environment')
      .selectAll('rollout_steps')
      .select('environments.name')
      .where(
        'rollout',
        'in',
        rows.map(({ id }) => id),
      )
      .orderBy('rollout')
      .orderBy('position')
      .execute()
    const byRollout = Map.groupBy(steps, ({ rollout }) => rollout)
    return rows.map((row) => rolloutOf(row, (byRollout.get(row.id) ?? []).map(stepOf)))
  }

  async function refuseSecond(
    transaction: CenterDatabase,
    { organisation, package: name, environments }: NewRolloutRows,
  ) {
    const taken = await transaction
      .selectFrom('rollout_steps')
      .innerJoin('rollouts', 'rollouts.id', 'rollout_steps.rollout')
      .innerJoin('environments', 'environments.id', 'rollout_steps.environment')
      .select('environments.name')
      .where('rollouts.organisation', '=', organisation)
      .where('rollouts.package', '=', name)
      .where('rollouts.state', 'in', [...UNFINISHED])
      .where('rollout_steps.environment', 'in', [...environments])
      .executeTakeFirst()
    if (taken === undefined) return
    const message = `Another rollout of "${name}" is in progress in "${taken.name}". Continue, cancel or roll it back first.`
    throw new PlatformError('ERR_ROLLOUT_RUNNING', message)
  }

  return {
    async create(wanted) {
      const { organisation, package: name, sha256, version, pace, patience, createdBy, environments } = wanted
      const id = randomUUID()
      await db.transaction().execute(async (transaction) => {
        // Lock the organisation's row, so that a concurrent `create` waits until this rollout is visible.
        const unchanged = transaction.updateTable('organisations').set((ref) => ({ title: ref.ref('title') }))
        await unchanged.where('id', '=', organisation).execute()
        await refuseSecond(transaction, wanted)
        await lockVersion(transaction, organisation, name, sha256)
        const row = { id, organisation, package: name, sha256, version, pace, patience }
        await transaction
          .insertInto('rollouts')
          .values({ ...row, state: 'running', created_at: now(), created_by: createdBy })
          .execute()
        for (const [position, environment] of environments.entries()) {
          const nothing = { number: null, started_at: null, ended_at: null, before: null, failure: null }
          await transaction
            .insertInto('rollout_steps')
            .values({ rollout: id, position, environment, state: 'waiting', ...nothing })
            .execute()
        }
      })
      return this.need(organisation, id)
    },
    async list(organisation, most = MOST_LISTED) {
      const query = db
        .selectFrom('rollouts')
        .selectAll()
        .where('organisation', '=', organisation)
        .orderBy('created_at', 'desc')
        .orderBy('id')
      return withSteps(await firstRows(db, query, most).execute())
    },
    async need(organisation, id) {
      const row = await db
        .selectFrom('rollouts')
        .selectAll()
        .where('organisation', '=', organisation)
        .where('id', '=', id.slice(0, 100))
        .executeTakeFirst()
      const [found] = await withSteps(row === undefined ? [] : [row])
      if (found !== undefined) return found
      throw new PlatformError('ERR_NOT_FOUND', `There is no rollout with the id "${id.slice(0, 100)}". Check the id.`)
    },
    async active() {
      return withSteps(await activeRows(db))
    },
    async move(id, from, to) {
      const { numUpdatedRows } = await db
        .updateTable('rollouts')
        .set({ state: to })
        .where('id', '=', id)
        .where('state', 'in', [...from])
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
    async changeStep(id, position, from, change) {
      const { numUpdatedRows } = await db
        .updateTable('rollout_steps')
        .set(columnsOf(change))
        .where('rollout', '=', id)
        .where('position', '=', position)
        .where('state', 'in', [...from])
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
    async holder(from, organisation, name, sha256) {
      const steps = await from
        .selectFrom('rollouts')
        .innerJoin('rollout_steps', 'rollout_steps.rollout', 'rollouts.id')
        .select(['rollouts.sha256', 'rollouts.version', 'rollout_steps.before'])
        .where('rollouts.organisation', '=', organisation)
        .where('rollouts.package', '=', name)
        .where('rollouts.state', 'in', [...UNFINISHED])
        .execute()
      const bringsBack = (before: string | null) =>
        before !== null && (JSON.parse(before) as Before).desired?.sha256 === sha256
      const holding = steps.find((step) => step.sha256 === sha256 || bringsBack(step.before))
      return holding === undefined
        ? null
        : `an unfinished rollout of ${holding.version} needs this version; finish or cancel the rollout first`
    },
  }
}

function activeRows(db: CenterDatabase): Promise<RolloutRow[]> {
  return db
    .selectFrom('rollouts')
    .selectAll()
    .where(({ or, and, eb, exists, selectFrom }) => {
      const running = selectFrom('rollout_steps')
        .select('position')
        .whereRef('rollout_steps.rollout', '=', 'rollouts.id')
        .where('rollout_steps.state', '=', 'running')
      const isUnfinished = and([eb('state', '=', 'cancelled'), exists(running)])
      return or([eb('state', 'in', ['running', 'rolling-back']), isUnfinished])
    })
    .orderBy('created_at')
    .execute()
}

function columnsOf({ state, number, startedAt, endedAt, before, failure }: StepChange) {
  return {
    ...(state === undefined ? {} : { state }),
    ...(number === undefined ? {} : { number }),
    ...(startedAt === undefined ? {} : { started_at: startedAt }),
    ...(endedAt === undefined ? {} : { ended_at: endedAt }),
    ...(before === undefined ? {} : { before: before === null ? null : JSON.stringify(before) }),
    ...(failure === undefined ? {} : { failure: failure === null ? null : JSON.stringify(failure) }),
  }
}

type RolloutRow = CenterTables['rollouts']

function rolloutOf({ created_at, created_by, ...row }: RolloutRow, steps: readonly RolloutStep[]): Rollout {
  const { state, pace } = row as { state: RolloutState; pace: Rollout['pace'] }
  return { ...row, state, pace, createdAt: created_at, createdBy: created_by, steps }
}

type StepRow = Omit<CenterTables['rollout_steps'], 'rollout'> & { name: string }

function stepOf({ position, environment, name, state, number, started_at, ended_at, before, failure }: StepRow) {
  return {
    position,
    environment,
    name,
    state: state as StepState,
    number,
    startedAt: started_at,
    endedAt: ended_at,
    before: before === null ? null : (JSON.parse(before) as Before),
    failure: failure === null ? null : (JSON.parse(failure) as StepFailure),
  }
}
