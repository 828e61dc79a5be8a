/** Fields of a schema's mutation, each as POST. Source: graphql-js 16.14 type/{schema,definition}.ts. */

import { judge, type Routes } from './listed-route.ts';

interface Schema {
  getMutationType(): {
    readonly name: string;
    getFields(): Readonly<Record<string, { readonly resolve?: unknown }>>;
  } | null;
}

/** Whether it is a schema of GraphQL. */
export function isGraphql(app: unknown): app is Schema {
  return typeof (app as Partial<Schema> | null | undefined)?.getMutationType === 'function';
}

/** Lists them: those of types that a field leads to are not known to change anything. */
export function graphqlRoutes(schema: Schema): Routes {
  const type = schema.getMutationType();
  const fields = Object.entries(type?.getFields() ?? {});
  const routes = fields.map(([name, { resolve }]) => judge('POST', `/${type?.name}.${name}`, [resolve]));
  return { routes, unseen: [] };
}
