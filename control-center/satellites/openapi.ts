import { desiredSatellitePaths, desiredSatelliteSchemas } from '../desired/satellite-openapi.ts'
import { problemSchema } from '../openapi-parts.ts'
import { solutionUserSatellitePaths, solutionUserSatelliteSchemas } from '../solution-users/satellite-openapi.ts'

/** The OpenAPI 3.1 description of what Satellites ask. */
export function satelliteOpenApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Solhost control center, for Satellites', version },
    components: {
      securitySchemes: { environment: { type: 'http', scheme: 'bearer', description: 'a remote environment token' } },
      schemas: { Problem: problemSchema, ...desiredSatelliteSchemas, ...solutionUserSatelliteSchemas },
    },
    security: [{ environment: [] }],
    paths: { ...desiredSatellitePaths, ...solutionUserSatellitePaths },
  }
}
