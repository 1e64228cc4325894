import { problemSchema } from '../openapi-parts.ts'
import { cloudLoginPaths, cloudLoginSchemas } from '../solution-users/satellite-api.ts'
import { desiredRoutePaths, desiredRouteSchemas } from './desired-openapi.ts'

/** The OpenAPI 3.1 description of what Satellites ask. */
export function satelliteOpenApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Solhost control center, for Satellites', version },
    components: {
      securitySchemes: { environment: { type: 'http', scheme: 'bearer', description: 'a remote environment token' } },
      schemas: { Problem: problemSchema, ...desiredRouteSchemas, ...cloudLoginSchemas },
    },
    security: [{ environment: [] }],
    paths: { ...desiredRoutePaths, ...cloudLoginPaths },
  }
}
