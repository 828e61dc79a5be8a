import { goldenShop } from '../../golden-shop.ts';

goldenShop('golden-kysely/server.mjs');
