import { SOLHOST } from '../../../base/program/program-name.ts'
import { CommandError, command, JSON_OPTION } from '../../../base/terminal/command.ts'
import { jsonText, printable, type Terminal } from '../../../base/terminal/terminal.ts'
import { HOST_NOTES, HOST_OPTIONS, HOST_URL } from '../../credentials.ts'
import { openJobs, type ShownJobs, type ShownRun } from '../../jobs-on-host.ts'

const NAME = { what: 'name of the solution' } as const

export const jobsListCommand = command({
  summary: 'list a solution’s jobs, with their next and last runs',
  arguments: { name: NAME, url: HOST_URL },
  options: { ...HOST_OPTIONS, ...JSON_OPTION },
  notes: () => HOST_NOTES,
  async run({ arguments: { name, url }, options }, terminal) {
    const jobs = await openJobs(name, url, options, terminal)
    const list = await jobs.list()
    if (options.json === true) terminal.out(jsonText({ ok: true, ...list }))
    else {
      terminal.out(jobsText(list, name, jobs.words))
      terminal.err(`Next: ${SOLHOST} jobs runs ${name} ${jobs.words}\n`)
    }
    return 'done'
  },
})

export const jobsRunsCommand = command({
  summary: 'list a solution’s newest job runs',
  arguments: { name: NAME, url: HOST_URL },
  options: {
    job: { type: 'string', value: '<name>', what: 'only runs of this job' },
    state: {
      type: 'string',
      value: '<state>',
      what: 'only runs in this state: waiting, running, succeeded, failed, cancelled or skipped',
    },
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: () => HOST_NOTES,
  async run({ arguments: { name, url }, options }, terminal) {
    const jobs = await openJobs(name, url, options, terminal)
    const runs = await jobs.runs({ job: options.job, state: options.state })
    if (options.json === true) terminal.out(jsonText({ ok: true, runs }))
    else terminal.out(runs.length === 0 ? noRuns(name, options) : runs.map(runLine).join(''))
    return 'done'
  },
})

export const jobsRunCommand = command({
  summary: 'start a job run',
  arguments: { name: NAME, job: { what: 'name of the job' }, url: HOST_URL },
  options: {
    data: { type: 'string', value: '<json>', what: 'data for the job, as JSON' },
    ...HOST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: () => HOST_NOTES,
  async run({ arguments: { name, job, url }, options }, terminal) {
    const data = options.data === undefined ? undefined : readData(options.data)
    const jobs = await openJobs(name, url, options, terminal)
    added(await jobs.run(job, data), name, jobs.words, options.json === true, terminal)
    return 'done'
  },
})

export const jobsAgainCommand = command({
  summary: 'repeat a failed or cancelled job run',
  arguments: { name: NAME, id: { what: 'id of the run, from "jobs runs"' }, url: HOST_URL },
  options: { ...HOST_OPTIONS, ...JSON_OPTION },
  notes: () => HOST_NOTES,
  async run({ arguments: { name, id, url }, options }, terminal) {
    const jobs = await openJobs(name, url, options, terminal)
    added(await jobs.again(id), name, jobs.words, options.json === true, terminal)
    return 'done'
  },
})

export const jobsPauseCommand = pauseCommand(true)
export const jobsResumeCommand = pauseCommand(false)

function pauseCommand(paused: boolean) {
  const [does, done, next] = paused ? ['pause', 'Paused', 'resume'] : ['resume', 'Resumed', 'list']
  return command({
    summary: `${does} a solution’s jobs`,
    arguments: { name: NAME, url: HOST_URL },
    options: { ...HOST_OPTIONS, ...JSON_OPTION },
    notes: () => HOST_NOTES,
    async run({ arguments: { name, url }, options }, terminal) {
      const jobs = await openJobs(name, url, options, terminal)
      await jobs.pause(paused)
      if (options.json === true) terminal.out(jsonText({ ok: true, paused }))
      else
        terminal.out(`${done} the jobs in ${printable(name)}.\nNext: ${SOLHOST} jobs ${next} ${name} ${jobs.words}\n`)
      return 'done'
    },
  })
}

function noRuns(
  name: string,
  { job, state }: { readonly job?: string | undefined; readonly state?: string | undefined },
): string {
  return job === undefined && state === undefined
    ? `${printable(name)} has no job runs.\n`
    : `No job runs in ${printable(name)} match your filter. Change --job or --state.\n`
}

function added(id: string, name: string, words: string, isJson: boolean, terminal: Terminal): void {
  if (isJson) terminal.out(jsonText({ ok: true, id }))
  else terminal.out(`Started run ${printable(id)}.\nNext: ${SOLHOST} jobs runs ${name} ${words}\n`)
}

/** @throws CommandError */
function readData(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new CommandError('usage', `--data is not valid JSON: ${(error as Error).message}`)
  }
}

function jobsText({ paused, items }: ShownJobs, name: string, words: string): string {
  const banner = paused
    ? `The jobs are paused. To resume them, run "${SOLHOST} jobs resume ${printable(name)} ${words}".\n`
    : ''
  if (items.length === 0) return `${banner}${printable(name)} has no jobs. To add one, see docs/jobs.md.\n`
  const lines = items.map(({ name: job, schedule, timeZone, next: [first], last }) => {
    const due = schedule === null ? 'when queued' : `${schedule} (${timeZone})`
    const times = first === undefined ? '' : `, next ${timeText(first)}`
    return `${printable(job)}: ${due}${times}${last === null ? '' : `, last run ${last.state}`}\n`
  })
  return `${banner}${lines.join('')}`
}

function runLine({ id, job, state, attempt, createdAt, failure }: ShownRun): string {
  const why = failure === null ? '' : `  ${failure.code}: ${failure.message}`
  return `${timeText(createdAt)}  ${printable(`${id}  ${job}  ${state}  attempt ${attempt}${why}`).replace(/\s*\n\s*/g, ' ')}\n`
}

function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
