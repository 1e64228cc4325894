import { inPath, json, jsonBody, operation, ref } from '../../base/api/openapi-parts.ts'
import {
  AuthenticateAnswer,
  AuthenticateRequest,
  LoginPageAnswer,
  RefreshRequest,
  SATELLITE_API,
} from '../../base/protocol/protocol.ts'
import { z } from '../../runtime/zod.ts'

export const solutionUserSatelliteSchemas = Object.fromEntries(
  Object.entries({ LoginPageAnswer, AuthenticateRequest, RefreshRequest, AuthenticateAnswer }).map(([key, schema]) => [
    key,
    z.toJSONSchema(schema, { io: 'input' }),
  ]),
)

const one = `${SATELLITE_API}/solutions/{solution}`
const parameters = [inPath('solution')]

export const solutionUserSatellitePaths = {
  [`${one}/login-page`]: {
    parameters,
    get: operation('The login page that was designed for a solution, with ETag', {
      200: json(ref('LoginPageAnswer')),
      304: { description: 'it is still the one of If-None-Match' },
    }),
  },
  [`${one}/authenticate`]: {
    parameters,
    post: {
      ...operation('Whether a user may sign in; a refusal is an answer', { 200: json(ref('AuthenticateAnswer')) }),
      requestBody: jsonBody(ref('AuthenticateRequest')),
    },
  },
  [`${one}/refresh`]: {
    parameters,
    post: {
      ...operation('Whether a remembered user may still sign in', { 200: json(ref('AuthenticateAnswer')) }),
      requestBody: jsonBody(ref('RefreshRequest')),
    },
  },
}
