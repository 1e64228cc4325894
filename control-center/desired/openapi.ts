import { inPath, json, jsonBody, operation, ref } from '../../base/api/openapi-parts.ts'
import { DesiredSettings, Report, Sha256, SolutionName } from '../../base/protocol/protocol.ts'
import { z } from '../../runtime/zod.ts'
import { ORGANISATION } from '../openapi-parts.ts'

/** The number that the change was made from: another one means that somebody else came first. */
const ReadNumber = z
  .int()
  .min(0)
  .optional()
  .describe('of the state that the change starts from; 409 where it is another')

export const NewDesired = z.strictObject({
  number: ReadNumber,
  solutions: z
    .record(SolutionName, z.strictObject({ sha256: Sha256 }))
    .optional()
    .describe('versions of packages; absent: as they are'),
  settings: DesiredSettings.optional().describe('absent: as they are'),
})

const Desired = z.object({
  number: z.int().describe('0: nothing was asked of it yet'),
  issuedAt: z.int().nullable().describe('epoch ms'),
  solutions: z.record(SolutionName, z.object({ sha256: Sha256, version: z.string() })),
  settings: DesiredSettings,
  nodes: z.array(Report.extend({ seenAt: z.int() })).describe('what its Satellites said within the last 90 s'),
})

const SCHEMAS = { Desired, NewDesired, DesiredSettings }

export const desiredSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [
    key,
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  ]),
)

export const desiredPaths = {
  [`${ORGANISATION}/environments/{environment}/desired`]: {
    parameters: [inPath('organisation'), inPath('environment')],
    get: operation('What the environment is to run, and what its Satellites say', { 200: json(ref('Desired')) }),
    put: {
      ...operation('Ask for other versions or settings; Satellites that wait get them at once', {
        200: json(ref('Desired')),
      }),
      requestBody: jsonBody(ref('NewDesired')),
    },
  },
  [`${ORGANISATION}/environments/{environment}/desired/settings`]: {
    parameters: [inPath('organisation'), inPath('environment')],
    put: {
      ...operation('Ask for other settings; versions stay as they are', { 200: json(ref('Desired')) }),
      requestBody: jsonBody(ref('DesiredSettings')),
    },
  },
}
