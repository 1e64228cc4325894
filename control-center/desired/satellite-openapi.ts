import { inPath, inQuery, json, jsonBody, operation, ref } from '../../base/api/openapi-parts.ts'
import {
  DesiredAnswer,
  DesiredState,
  KeyAnswer,
  LONGEST_WAIT,
  Report,
  SATELLITE_API,
} from '../../base/protocol/protocol.ts'
import { z } from '../../runtime/zod.ts'

const SCHEMAS = { DesiredAnswer, DesiredState, KeyAnswer, Report }

export const desiredSatelliteSchemas = Object.fromEntries(
  Object.entries(SCHEMAS).map(([key, schema]) => [
    key,
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  ]),
)

export const desiredSatellitePaths = {
  [`${SATELLITE_API}/key`]: {
    get: operation('The Ed25519 key that statements are signed with', { 200: json(ref('KeyAnswer')) }),
  },
  [`${SATELLITE_API}/desired`]: {
    get: {
      ...operation('What the environment is to run: a compact JWS of a DesiredState, as soon as there is a newer one', {
        200: json(ref('DesiredAnswer')),
        204: { description: 'there was none within the time' },
      }),
      parameters: [
        inQuery('after', { type: 'integer', minimum: 0, default: 0 }, 'the highest number that is known'),
        inQuery('wait', { type: 'integer', minimum: 0, maximum: LONGEST_WAIT, default: 0 }, 'seconds'),
      ],
    },
  },
  [`${SATELLITE_API}/bundles/{sha256}`]: {
    parameters: [inPath('sha256')],
    get: operation('A bundle that the desired state names', {
      200: { description: 'the bundle', content: { 'application/zip': {} } },
    }),
  },
  [`${SATELLITE_API}/report`]: {
    post: {
      ...operation('What a node is and runs', { 204: { description: 'taken' } }),
      requestBody: jsonBody(ref('Report')),
    },
  },
}
