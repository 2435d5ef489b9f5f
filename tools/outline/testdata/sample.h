#ifndef CART_H
#define CART_H

struct cart;

typedef struct {
	int x, y;
} point;

int cart_total(const struct cart *c);
void cart_free(struct cart *c);

#endif
